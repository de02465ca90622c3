"""The reference of all ``--json`` documents: ``python -m stepscope.questions.documentation``."""

from __future__ import annotations

from stepscope.analysis.foundation.question import Question
from stepscope.questions.fields import description, fields, unit
from stepscope.questions.registry import QUESTIONS


def documentation() -> str:
    """Markdown, one section per question."""
    parts = [
        "# Answers as JSON",
        "",
        "Made from the declarations of the questions; do not edit by hand (`make docs`).",
        "",
        "Every command prints with `--json` one document:",
        '`{"schema": "stepscope.<command>/1", "run": …, "notes": […], "note_groups": […], "data": …}`.',
        "Times end in `_us` or `_ns`, sizes in `_bytes`, shares (0 to 1) in `_share`.",
        "The JSON schema gives the unit of every number as `x-unit`. A `count` counts things, an `id` says which one "
        "it is (a rank, a step), a `ratio` has no unit, and `beside` means the unit that a neighbouring field names.",
        "Null is what the capture cannot tell.",
        "Where a question has no answer, standard output stays empty: the reason, after the run's notes, is on "
        "standard error, and the exit code is 1.",
        "`run` has `path` (of several, the directory that holds them), `paths` (all, resolved), `window`, "
        "`windows` (oldest first), `ranks`, `readers` and `schema_version`.",
        "Nested entries are written with dots. `--explain FIELD` shows the same with the vendor's value beside ours.",
        "",
    ]
    for question in QUESTIONS.values():
        parts += _section(question)
    return "\n".join(parts)


def _section(question: Question) -> list[str]:
    shape = "a list of entries" if question.many else "one object"
    lines = [f"## {question.name}", "", f"`stepscope.{question.name}/1`; data is {shape}.", ""]
    if question.beside:
        names = ", ".join(f"`{name}`" for name in question.beside)
        lines += [f"Beside `data` the document has {names}.", ""]
    if question.parameters:
        names = ", ".join(
            f"`{parameter.name}`" + (f" ({', '.join(parameter.choices)})" if parameter.choices else "")
            for parameter in question.parameters
        )
        lines += [f"Parameters beside ranks and steps: {names}.", ""]
    lines += ["| field | unit | meaning | formula |", "|---|---|---|---|"]
    for field in fields(question):
        entry = description(question, field)
        formula = entry["formula"].replace("|", "\\|")
        lines.append(f"| {field} | {unit(question, field) or ''} | {entry['en']} | {formula} |")
    return [*lines, ""]


if __name__ == "__main__":
    print(documentation(), end="")
