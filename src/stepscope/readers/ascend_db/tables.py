"""Which tables a profiler database has, what it lacks, and what others have put into it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from stepscope.errors import UnreadableInputError
from stepscope.facts.ascend import ascend_facts
from stepscope.readers.ascend_db import counters, summaries
from stepscope.readers.sqlite.database import Database
from stepscope.store.notes import Notes

_TIMELINE: Final = ("TASK", "CANN_API", "PYTORCH_API", "MSTX_EVENTS", "GC_RECORD", "OSRT_API", "COMMUNICATION_OP")
_TASKS: Final = (
    "COMPUTE_TASK_INFO",
    "COMMUNICATION_TASK_INFO",
    "COMMUNICATION_SCHEDULE_TASK_INFO",
    "MEMCPY_INFO",
    "TASK_PMU_INFO",
)
_FRAMEWORK: Final = ("CONNECTION_IDS", "PYTORCH_CALLCHAINS", "STEP_TIME")
_MEMORY: Final = ("MEMORY_RECORD", "OP_MEMORY", "NPU_OP_MEM", "NPU_MODULE_MEM")
_OTHERS: Final = ("SAMPLE_PMU_SUMMARY",)
_IDENTITY: Final = ("META_DATA", "SESSION_TIME_INFO", "HOST_INFO", "NPU_INFO", "RANK_DEVICE_MAP", "STRING_IDS")
_ENUM: Final = "ENUM_"

#: Tables that hold data of a capture, not only words and names.
DATA: Final = frozenset(
    (*_TIMELINE, *_TASKS, *_FRAMEWORK, *_MEMORY, *_OTHERS, *(samples.table for samples in counters.TABLES))
)
#: Without at least one of these, a database is something else.
TELLING: Final = frozenset((*_TIMELINE, "STRING_IDS", "COMPUTE_TASK_INFO", "MEMORY_RECORD", *summaries.TABLES))

_MOST_NAMED: Final = 50
_MOST_SHOWN: Final = 10


def completeness(database: Database) -> int:
    """How many known tables have rows."""
    known = DATA | frozenset(summaries.TABLES)
    return sum(database.has_rows(table) for table in database.tables if table in known)


def require_data(database: Database, path: Path) -> None:
    """Refuse what is no profiler's database, or one without any data."""
    if not TELLING & database.tables.keys():
        named = ", ".join(list(database.tables)[:_MOST_SHOWN]) or "-"
        raise UnreadableInputError("db_foreign_schema", path=str(path), tables=named[:500])
    if not completeness(database):
        raise UnreadableInputError("db_without_data", path=str(path))


def note_foreign(database: Database, notes: Notes) -> None:
    """Tables that the profiler did not write, each with its rows; views that bear the name of a table."""
    known = DATA | TELLING | frozenset(_IDENTITY)
    for table in sorted(database.pretenders & known):
        notes.add("db_table_is_view", file=database.file, table=table)
    foreign = [table for table in database.tables if table not in known and not table.startswith(_ENUM)]
    for table in foreign[:_MOST_NAMED]:
        notes.add("db_table_foreign", file=database.file, table=table[:80], count=database.count(table))
    notes.add("db_tables_foreign", file=database.file, count=len(foreign[_MOST_NAMED:]))


def note_missing(database: Database, framework: str | None, notes: Notes) -> None:
    """Tables that would carry wanted data, and the switch that fills each; of a cut file that is not known."""
    if database.list_is_cut:
        return
    for table, switch in _switches(database, framework).items():
        if table not in database.lost and not database.has_rows(table):
            notes.add("db_table_missing", file=database.file, table=table, switch=switch)


def is_by_msprof(database: Database, framework: str | None) -> bool:
    """Whether msprof wrote a database itself: frameworks take over such a one, and torch_npu adds tables to it."""
    added = ascend_facts().table_switches.pytorch.keys()
    return framework is None and not added & database.tables.keys()


def _switches(database: Database, framework: str | None) -> dict[str, str]:
    """Tables that the writer of a database could have filled."""
    switches = ascend_facts().table_switches
    if is_by_msprof(database, framework):
        return switches.msprof
    return switches.framework | (switches.pytorch if framework != "mindspore" else {})
