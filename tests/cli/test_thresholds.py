"""Thresholds have names, homes and origins, and a user's file replaces them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepscope.facts import thresholds
from stepscope.facts.documentation import origins, page
from stepscope.facts.findings import finding_facts
from stepscope.facts.thresholds import ENVIRONMENT, UnusableThresholdsError, shipped
from support.commands import Command
from support.mini_trace import write_rank

_PAGE = Path(__file__).resolve().parents[2] / "docs" / "thresholds.md"


@pytest.fixture(autouse=True)
def shipped_afterwards(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    yield
    thresholds.use(None)


def _file(directory: Path, content: str) -> Path:
    path = directory / "mine.toml"
    path.write_text(content)
    return path


@pytest.mark.parametrize("name", sorted(shipped()))
def test_a_threshold_has_an_origin(name: str) -> None:
    assert origins()[name]


def test_all_thresholds_are_documented() -> None:
    assert _PAGE.read_text("utf-8") == page(), "make docs"
    assert "`findings.strength.mild_share` | 0.04" in page()


def test_a_file_replaces_what_it_names_and_nothing_else(tmp_path: Path) -> None:
    before = finding_facts().strength
    thresholds.use(_file(tmp_path, "[findings.strength]\nmild_share = 0.07\n"))
    assert finding_facts().strength.mild_share == 0.07
    assert finding_facts().strength.clear_share == before.clear_share
    thresholds.use(None)
    assert finding_facts().strength == before


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("findings.strength.mild_shares = 0.1", "no_such_threshold"),
        ("devices.cube.flops_per_cycle.fp16 = 1", "no_such_threshold"),
        ("findings.strength.mild_share = 'much'", "threshold_no_number"),
        ("findings.strength.mild_share = nan", "threshold_no_number"),
        ("findings.strength.mild_share = -0.1", "threshold_no_number"),
        ("findings.strength.mild_share = true", "threshold_no_number"),
        ("findings.strength.least_steps = 2.5", "threshold_no_whole_number"),
        ("findings = [", "thresholds_no_toml"),
    ],
)
def test_what_cannot_be_used_is_refused(tmp_path: Path, content: str, code: str) -> None:
    with pytest.raises(UnusableThresholdsError) as refused:
        thresholds.use(_file(tmp_path, content))
    assert refused.value.code == code
    assert finding_facts().strength.mild_share == 0.04


def test_a_name_that_is_nearly_right_gets_the_right_one(tmp_path: Path) -> None:
    with pytest.raises(UnusableThresholdsError) as refused:
        thresholds.read(_file(tmp_path, "mild_share = 0.1"))
    assert "findings.strength.mild_share" in str(refused.value.params["near"])


def test_the_command_concludes_by_the_users_limits_and_keeps_both_apart(tmp_path: Path, stepscope: Command) -> None:
    trace = write_rank(tmp_path / "trace.json", steps=4)
    silent = _file(
        tmp_path, "[findings.strength]\nmild_share = 0.99\n[findings.exposed_communication]\nleast_share = 0.99\n"
    )
    kinds = []
    for more in ((), ("--thresholds", silent), ()):
        done = stepscope("diagnose", trace, "--json", *more)
        kinds.append([entry["kind"] for entry in json.loads(done.out)["data"]["findings"]])
    assert kinds[0] == kinds[2] != []
    assert kinds[1] == []


def test_a_wrong_name_is_a_usage_error(tmp_path: Path, stepscope: Command) -> None:
    trace = write_rank(tmp_path / "trace.json", steps=4)
    wrong = _file(tmp_path, "[findings.strength]\nmild = 0.99\n")
    done = stepscope("diagnose", trace, "--thresholds", wrong)
    assert done.code == 2
    assert "findings.strength.mild_share" in done.err and "Traceback" not in done.err
