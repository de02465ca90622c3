"""Every question: its answer fits its JSON schema, and every field is documented in both languages."""

from __future__ import annotations

import inspect
from pathlib import Path

import msgspec
import pytest

import stepscope
from stepscope.cli.ask import ask
from stepscope.errors import NoAnswerError, UsageError
from stepscope.questions import QUESTIONS
from stepscope.questions.documentation import documentation
from stepscope.questions.explain import explain
from stepscope.questions.fields import description, fields
from stepscope.questions.stub import stub
from stepscope.texts import LANGUAGES, catalogue
from support.commands import command_names
from support.samples import open_sample

_ROOT = Path(__file__).resolve().parents[2]
_EXTRA = {"formula", "sql", "vendor"}


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_field_is_documented(name: str) -> None:
    question = QUESTIONS[name]
    for field in fields(question):
        entry = description(question, field)
        assert set(LANGUAGES) | {"formula"} <= set(entry) <= set(LANGUAGES) | _EXTRA, field
        assert all(entry.values()), field


def test_no_field_is_documented_that_is_not_there() -> None:
    known = {f"{question.name}.{field}" for question in QUESTIONS.values() for field in fields(question)}
    assert set(catalogue()["field"]) - known == set()


def test_every_option_has_a_sentence_and_every_sentence_an_option() -> None:
    own = {f"{name}.{each.name}" for name, question in QUESTIONS.items() for each in question.parameters}
    shared = set(inspect.signature(ask).parameters) - {"question", "chosen"}
    assert set(catalogue()["option"]) == own | shared


def test_the_reference_is_up_to_date() -> None:
    assert (_ROOT / "docs" / "json.md").read_text("utf-8") == documentation(), "run `make docs`"


def test_commands_and_questions_are_the_same() -> None:
    assert set(QUESTIONS) <= set(command_names())


def test_the_types_of_the_methods_are_up_to_date() -> None:
    written = Path(stepscope.__file__).parent / "questions" / "methods.pyi"
    assert written.read_text("utf-8") == stub(), "run `make docs`"


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize(
    ("capture", "window"),
    [
        ("kineto/h200_plain.json.gz", None),
        ("kineto/gpt_stack.json.gz", None),
        ("kineto/ddp4", None),
        ("ascend", "text_level1"),
        ("ascend", "db_level1"),
        ("mindinsight/profiler", None),
        ("mindinsight/run_2", None),
        ("memory", None),
    ],
)
def test_answers_fit_their_schema(shared_data: Path, name: str, capture: str, window: str | None) -> None:
    run = open_sample(shared_data / capture, window)
    try:
        answer = run.ask(name)
    except NoAnswerError as error:
        assert error.message("zh")
        return
    msgspec.convert(answer.plain(), QUESTIONS[name].type)
    assert all(note.sentence(lang) for note in answer.notes for lang in LANGUAGES)


def test_an_unknown_question_and_an_unknown_field_are_refused(shared_data: Path) -> None:
    run = open_sample(shared_data / "kineto" / "h200_plain.json.gz")
    with pytest.raises(UsageError, match="no question"):
        run.ask("weather")
    with pytest.raises(UsageError, match="no field"):
        explain(run.store, "steps", "weather_us")


def test_the_vendors_value_appears_beside_ours(shared_data: Path) -> None:
    run = open_sample(shared_data / "ascend", "text_level1")
    found = explain(run.store, "steps", "computing_us", [0])
    assert [value.value for value in found.vendor] == [8873.756000000001]  # step_trace_time.csv of rank 0
    assert [value.value for value in found.ours] == [8873.734]
    assert found.sql is not None
    assert run.sql(found.sql)["dur_ns"].sum() == 8_873_734
