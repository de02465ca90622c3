"""A new rule is one file of code and its texts; every face shows its findings then."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.running import served
from stepscope import texts
from stepscope.diagnosis import rules
from stepscope.facts.findings import finding_facts
from support.examples_in_place import forget_texts, printed
from support.mini_trace import write_rank

_EXAMPLE = Path(__file__).parent / "example"
_KIND = "compute_hotspot"
_FILE = "longest_kernel"
_TITLE = "sgemm_128x64 takes most of the time on rank 0"


@pytest.fixture(autouse=True)
def example_in_place(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(rules, "__path__", [*rules.__path__, str(_EXAMPLE / "rules")])
    monkeypatch.setattr(texts, "__path__", [*texts.__path__, str(_EXAMPLE / "texts")])
    forget_texts()
    yield
    monkeypatch.undo()
    forget_texts()
    sys.modules.pop(f"{rules.__name__}.{_FILE}", None)


def test_its_findings_are_on_every_face(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = write_rank(tmp_path / "trace.json", steps=4)
    assert _TITLE in printed(capsys, monkeypatch, "diagnose", trace)
    data = json.loads(printed(capsys, monkeypatch, "diagnose", trace, "--json"))["data"]
    assert _KIND in data["verdict"]["checked"]
    (finding,) = [finding for finding in data["findings"] if finding["kind"] == _KIND]
    assert finding["title"] == {"en": _TITLE, "zh": "rank 0 的大部分时间用于 sgemm_128x64"}
    assert finding["where"]["operator"] == "sgemm_128x64"
    concern = [each for each in data["findings"] if "operators" in finding_facts().kinds[each["kind"]].questions]
    assert finding in concern, "its kind concerns that question"
    assert concern[0]["title"]["en"] in printed(capsys, monkeypatch, "operators", trace).splitlines()[0]
    with served(trace) as server:
        answer = server.client.get(f"{server.ready()}/diagnose").json()
    assert finding in answer["data"]["findings"]
