"""What a field means: its formula, where its data come from, and the vendor's value beside ours."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec
import polars as pl

from stepscope.analysis.foundation.question import Question
from stepscope.analysis.foundation.work import ranks_of
from stepscope.errors import NoAnswerError, UsageError
from stepscope.questions.fields import description, fields, unit
from stepscope.questions.registry import QUESTIONS
from stepscope.store.run_store import RunStore

# How the entries of an answer are told apart, by the first of these that they have.
_NAMES: Final = ("name", "kind", "field")


class VendorValue(msgspec.Struct, frozen=True):
    """What a vendor's own file says."""

    rank: int
    step: int | None
    key: str | None
    file: str
    value: float


class OurValue(msgspec.Struct, frozen=True):
    """What we computed."""

    rank: int | None
    step: int | None
    name: str | None
    value: Any


class Explanation(msgspec.Struct, frozen=True):
    """One field of one question, for a run. ``sql`` lists the slices it is made of."""

    field: str
    unit: str | None
    meaning: dict[str, str]
    formula: str
    sources: list[str]
    sql: str | None
    ours: list[OurValue]
    vendor: list[VendorValue]


def explain(
    store: RunStore,
    question_name: str,
    field: str,
    ranks: Sequence[int] | None = None,
    steps: Sequence[int] | None = None,
) -> Explanation:
    """The explanation of a field; the last parts of its name are enough. They mean the outermost that ends in them, of
    several the first.
    """
    question = QUESTIONS.named(question_name)
    known = fields(question)
    chosen = [name for name in known if name == field] or [name for name in known if name.endswith(f".{field}")]
    if not chosen:
        raise UsageError("no_such_field", field=field, fields=", ".join(_similar(field, known) or known))
    chosen.sort(key=lambda name: name.count("."))  # what belongs to a rank itself, not to a part of it
    entry = description(question, chosen[0])
    mine = ranks_of(store, ranks)
    sources = store.scan("ranks", mine).select(pl.col("source").cast(pl.String)).collect()["source"].to_list()
    return Explanation(
        field=chosen[0],
        unit=unit(question, chosen[0]),
        meaning={"en": entry["en"], "zh": entry["zh"]},
        formula=entry["formula"],
        sources=[source for source in sources if source],
        sql=entry["sql"].format(rank=mine[0], in_steps=_in_steps(steps)) if "sql" in entry else None,
        ours=_ours(store, question, chosen[0], mine, steps),
        vendor=_vendor(store, entry["vendor"], mine, steps) if "vendor" in entry else [],
    )


def _similar(field: str, known: list[str]) -> list[str]:
    """Names that a user may have meant, who often knows no more than a part of them."""
    if containing := [name for name in known if field in name]:
        return containing
    last_parts = {name.rpartition(".")[2]: name for name in reversed(known)}
    near = difflib.get_close_matches(field, known, 3)
    return list(dict.fromkeys([*near, *(last_parts[part] for part in difflib.get_close_matches(field, last_parts, 3))]))


def _in_steps(steps: Sequence[int] | None) -> str:
    """What a query says after the column, to find what belongs to these steps, or to any step."""
    return f"IN ({', '.join(map(str, steps))})" if steps else "IS NOT NULL"


def _ours(
    store: RunStore, question: Question, field: str, ranks: list[int], steps: Sequence[int] | None
) -> list[OurValue]:
    """The values of a field in our answer, wherever in it they are; none if there is no answer."""
    chosen = {"steps": steps} if question.by_step and steps else {}
    try:
        answer = question.ask(store, ranks=ranks, **chosen)
    except NoAnswerError:
        return []
    path = field.split(".")
    told = answer.plain_beside() if path[0] in question.beside else answer.plain()
    return list(_values(told, path, OurValue(None, None, None, None)))


def _values(part: Any, path: list[str], context: OurValue) -> Iterator[OurValue]:
    """What lies at a path, with the rank, the step and the name that the entries on the way tell."""
    if not path:
        if not isinstance(part, (list, dict)):  # a curve is no value to print
            yield OurValue(context.rank, context.step, context.name, part)
    elif isinstance(part, list):
        for entry in part:
            yield from _values(entry, path, context)
    elif isinstance(part, dict) and path[0] in part:
        rank, step = (part.get(key, getattr(context, key)) for key in ("rank", "step"))
        name = next((part[key] for key in _NAMES if key in part), context.name)
        yield from _values(part[path[0]], path[1:], OurValue(rank, step, name, None))


def _vendor(store: RunStore, wanted: str, ranks: list[int], steps: Sequence[int] | None) -> list[VendorValue]:
    files, _, metric = wanted.partition("/")
    # Some files carry the rank in their names: minddata_pipeline_raw_0.csv.
    file = pl.col("file").cast(pl.String).str.replace(r"_\d+(\.\w+)$", "$1")
    rows = store.scan("reported", ranks).filter(
        file.is_in(files.split("|")) & (pl.col("metric").cast(pl.String) == metric)
    )
    if steps:
        rows = rows.filter(pl.col("step").is_in(list(steps)))
    reported = rows.select("rank", "step", pl.col("key", "file").cast(pl.String), "value").collect()
    return [VendorValue(**row) for row in reported.iter_rows(named=True)]
