"""A new question is one file of code and one of texts; every face shows it then."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import stepscope
from server.running import served
from stepscope import analysis, texts
from stepscope.analysis.foundation.question import DECLARED
from stepscope.questions import QUESTIONS
from stepscope.questions.documentation import documentation
from stepscope.questions.stub import stub
from support.examples_in_place import forget_texts, printed
from support.mini_trace import write_capture

_EXAMPLE = Path(__file__).parent / "example"
_NAME = "longest-slices"


@pytest.fixture(autouse=True)
def example_in_place(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The two files lie beside those of all other questions."""
    monkeypatch.setattr(analysis, "__path__", [*analysis.__path__, str(_EXAMPLE / "analysis")])
    monkeypatch.setattr(texts, "__path__", [*texts.__path__, str(_EXAMPLE / "texts")])
    forget_texts()
    yield
    monkeypatch.undo()
    forget_texts()
    DECLARED.pop(_NAME, None)
    sys.modules.pop("stepscope.analysis.longest_slices", None)


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_capture(tmp_path_factory.mktemp("example") / "capture", [0, 1], steps=3)


def test_it_is_listed_with_its_sentence_and_explains_its_options(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Show the longest slices" in printed(capsys, monkeypatch, "--help")
    told = printed(capsys, monkeypatch, _NAME, "--help")
    assert "--kind <kernel|operator>" in told
    assert "Which slices.  [default: kernel]" in told
    assert "显示最长的 slice。" in printed(capsys, monkeypatch, _NAME, "--lang", "zh", "--help")


def test_command_route_and_method_give_the_same_rows(
    capture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "store"
    run = stepscope.load(capture, store=store, progress=False)
    assert "longest_slices" in dir(run)
    method = getattr(run, "longest_slices")  # noqa: B009, unknown to type checkers until `make docs`
    assert list(inspect.signature(method).parameters) == ["ranks", "kind", "most"]
    slices = run.table("slices").collect()
    longest = sorted(slices.filter(kind="operator")["dur_ns"], reverse=True)[:5]
    assert [round(1000 * each) for each in method(kind="operator", most=5)["duration_us"]] == longest

    rows = method(kind="operator", most=5).to_dicts()
    words = (capture, "--store", store, "--kind", "operator", "--most", "5")
    document = json.loads(printed(capsys, monkeypatch, _NAME, *words, "--json"))
    assert (document["schema"], document["data"]) == ("stepscope.longest-slices/1", rows)
    table = printed(capsys, monkeypatch, _NAME, *words)
    assert all(f"{row['duration_us']:,.3f}" in table for row in rows)
    with served(capture, store=store) as server:
        asked = f"{server.ready()}/{_NAME}?kind=operator&most=5"
        assert server.client.get(asked).json()["data"] == rows
        assert server.client.get(f"{server.ready()}/{_NAME}?kind=colour").status_code == 422


def test_the_page_can_list_it_and_the_schema_describes_it(capture: Path) -> None:
    with served(capture) as server:
        listed = {entry["name"]: entry for entry in server.client.get("/api/questions").json()}
        described = server.client.get("/api/openapi.json").json()
        assert _NAME in server.client.get(server.ready()).json()["analyses"]
    assert (listed[_NAME]["en"], listed[_NAME]["by_step"]) == ("Show the longest slices.", False)
    assert [entry["zh"] for entry in listed[_NAME]["choices"]] == ["哪一种 slice。", "列出多少个。"]
    assert [entry["field"] for entry in listed[_NAME]["fields"]] == ["rank", "name", "duration_us"]
    assert f"/api/run/{{run_id}}/{_NAME}" in described["paths"]
    assert set(described["components"]["schemas"]["LongSlice"]["properties"]) == {"rank", "name", "duration_us"}


def test_the_references_describe_it(capsys: pytest.CaptureFixture[str]) -> None:
    section = documentation().partition(f"## {_NAME}")[2]
    assert "| name |  | Name of the slice. | name |" in section
    assert "| duration_us | us |" in section
    assert "def longest_slices(" in stub()
    assert QUESTIONS[_NAME].schema()["items"]["$ref"].endswith("LongSlice")


def test_a_field_is_explained(
    capture: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Name of the slice." in printed(capsys, monkeypatch, _NAME, capture, "--explain", "name")
