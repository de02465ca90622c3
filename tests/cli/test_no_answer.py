"""A question without an answer still tells what the capture lacks, which is often the reason."""

from __future__ import annotations

import csv
import io
import shlex
from pathlib import Path

from readers.ascend_builder import write_rank
from support.commands import Command

STATISTIC = (
    "OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)\n"
    "Mul,AI_CORE,2,3,1,1.5,2,100\n"
)
STEPS = "Step,Computing\n1,5.0\n"
MISSING = "This capture has no trace_view.json"


def test_notes_come_with_the_reason_and_the_reason_comes_last(stepscope: Command, tmp_path: Path) -> None:
    capture = write_rank(tmp_path, {"step_trace_time.csv": STEPS})
    outcome = stepscope("operators", capture, "--store", tmp_path / "store")
    assert outcome.code == 1
    *notes, reason = outcome.err.splitlines()
    assert sum(MISSING in note for note in notes) == 1
    assert all(note.startswith("note: ") for note in notes)
    assert reason.startswith("stepscope: No kernel")
    assert outcome.out == ""


def test_json_on_standard_output_stays_empty(stepscope: Command, tmp_path: Path) -> None:
    capture = write_rank(tmp_path, {"step_trace_time.csv": STEPS})
    outcome = stepscope("operators", capture, "--store", tmp_path / "store", "--json")
    assert (outcome.code, outcome.out) == (1, "")
    assert MISSING in outcome.err


def test_notes_are_in_the_language_asked_for(stepscope: Command, tmp_path: Path) -> None:
    capture = write_rank(tmp_path, {"step_trace_time.csv": STEPS})
    outcome = stepscope("operators", capture, "--store", tmp_path / "store", "--lang", "zh")
    assert outcome.code == 1
    assert "采集数据中没有 trace_view.json" in outcome.err
    assert MISSING not in outcome.err


def test_where_only_the_makers_sums_are_there_the_command_that_shows_them_is_reported(
    stepscope: Command, tmp_path: Path
) -> None:
    capture = write_rank(tmp_path, {"op_statistic.csv": STATISTIC})
    for question in ("operators", "op-statistics"):
        outcome = stepscope(question, capture, "--store", tmp_path / "store")
        assert outcome.code == 1
        reason = outcome.err.splitlines()[-1]
        assert "op_statistic.csv" in reason
    command = shlex.split(reason[reason.index("stepscope sql") :])
    shown = stepscope(*command[1:], "--csv", "--store", tmp_path / "store")
    values = {row["metric"]: float(row["value"]) for row in csv.DictReader(io.StringIO(shown.out))}
    assert (values["Count"], values["Total Time(us)"], values["Max Time(us)"]) == (2, 3, 2)


def test_a_search_that_finds_nothing_is_not_answered_with_the_makers_sums(stepscope: Command, tmp_path: Path) -> None:
    capture = write_rank(tmp_path, {"op_statistic.csv": STATISTIC})
    outcome = stepscope("operators", capture, "--search", "Mul", "--store", tmp_path / "store")
    assert outcome.code == 1
    assert outcome.err.splitlines()[-1].startswith("stepscope: No kernel")


def test_a_word_too_long_for_a_file_name_is_a_query_or_a_path_that_is_not_there(
    stepscope: Command, tmp_path: Path
) -> None:
    long, capture = "a" * 300, write_rank(tmp_path, {"step_trace_time.csv": STEPS})
    answer = stepscope("sql", capture, f"SELECT '{long}' AS word", "--json", "--store", tmp_path / "store")
    assert (answer.code, long in answer.out) == (0, True)
    for words in (("summary", long), ("compare", capture, long), (f"./{long}",)):
        missing = stepscope(*words)
        assert missing.code != 0
        assert "There is no file or directory" in missing.err
