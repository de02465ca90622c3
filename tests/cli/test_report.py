"""``stepscope report``: one HTML file, tables, a summary for CI, a bundle for an issue tracker."""

from __future__ import annotations

import base64
import gzip
import hashlib
import importlib.util
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import stepscope as package
from stepscope.texts import text
from support.commands import Command
from support.recordings import DATA
from support.samples import open_sample

_STEPS = DATA / "gpu_steps.json.gz"
_FOUR = DATA / "four_ranks_cuda_slow_compute.tar.xz"
_SLOW, _FAST = (DATA / f"pair_{name}.json.gz" for name in ("fp32", "bf16"))


def _page(path: Path) -> dict[str, Any]:
    """What the file's script shows."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', path.read_text("utf-8"), re.DOTALL)
    assert found is not None
    page: dict[str, Any] = json.loads(found[1])
    return page


def _section(page: dict[str, Any], name: str) -> dict[str, Any]:
    return next(section for section in page["sections"] if section["id"] == name)


def test_the_page_says_what_diagnose_says(stepscope: Command, tmp_path: Path) -> None:
    assert stepscope("report", _STEPS, "-o", tmp_path / "report.html").code == 0
    told = json.loads(stepscope("diagnose", _STEPS, "--json").out)["data"]
    page = _page(tmp_path / "report.html")
    assert page["verdict"] == told["verdict"]["sentence"]
    cards = _section(page, "findings")["cards"]
    assert [card["title"] for card in cards] == [finding["title"] for finding in told["findings"]]
    assert [card["advice"] for card in cards] == [finding["advice"] for finding in told["findings"]]
    kinds = [card["facts"][0]["en"] for card in cards]
    assert kinds == [text(f"finding_kind.{finding['kind']}", "en") for finding in told["findings"]]
    # Kinds with one remedy share a line, and so do those that no recording of this job would show.
    remedies = {entry["collect_with"]["en"] if entry["recordable"] else None for entry in told["not_checked"]}
    assert len(_section(page, "not-checked")["lines"]) == len(remedies)


def test_the_bar_of_a_rank_is_its_mean_step(stepscope: Command, tmp_path: Path) -> None:
    stepscope("report", _FOUR, "-o", tmp_path / "report.html")
    told = {entry["rank"]: entry for entry in json.loads(stepscope("summary", _FOUR, "--json").out)["data"]["ranks"]}
    bars = _section(_page(tmp_path / "report.html"), "step")["bars"]
    assert len(bars) == 4
    longest = max(entry["period_us"] for entry in told.values())
    for rank, bar in enumerate(bars):
        assert sum(part["width"] for part in bar["parts"]) == pytest.approx(told[rank]["period_us"] / longest)
        computing = next(part for part in bar["parts"] if part["part"] == "computing")
        assert computing["width"] == pytest.approx(told[rank]["computing_us"] / longest)


def test_a_policy_allows_the_file_its_own_style_and_script_alone(stepscope: Command, tmp_path: Path) -> None:
    stepscope("report", _STEPS, "-o", tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text("utf-8")
    for tag in ("style", "script"):
        (inline,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in text
    assert "default-src 'none'" in text
    assert not re.search(r"https?://|@import|url\(|\ssrc=", text)


def test_a_name_in_a_trace_is_never_markup(stepscope: Command, tmp_path: Path) -> None:
    hostile = "</script><img src=x onerror=alert(1)><!--"
    trace = gzip.decompress(_STEPS.read_bytes()).decode()
    (tmp_path / "trace.json").write_text(trace.replace("aten::addmm", json.dumps(hostile)[1:-1]), "utf-8")
    outcome = stepscope("report", tmp_path / "trace.json", "-o", tmp_path / "report.html")
    assert outcome.code == 0, outcome.err
    text = (tmp_path / "report.html").read_text("utf-8")
    assert text.count("</script>") == 2
    assert "<img" not in text
    assert "<!--" not in text
    assert hostile in json.dumps(_page(tmp_path / "report.html"))
    run = package.load(tmp_path / "trace.json")
    assert "<img" not in run._repr_html_()


def test_pictures_show_the_slices_around_a_proof(stepscope: Command, tmp_path: Path) -> None:
    """Against all slices of the run, gone through one by one."""
    stepscope("report", _STEPS, "-o", tmp_path / "report.html")
    run = open_sample(_STEPS)
    slices = run.table("slices").collect().to_dicts()
    finding = run.diagnose().findings[0]
    card = _section(_page(tmp_path / "report.html"), "findings")["cards"][0]
    for proof, picture in zip(finding.proof, card["pictures"], strict=False):
        assert proof.start_ns is not None
        assert proof.end_ns is not None
        begin, end = picture["start_ns"], picture["start_ns"] + picture["dur_ns"]
        assert (begin + picture["proof_start_ns"], begin + picture["proof_end_ns"]) == (proof.start_ns, proof.end_ns)
        touching = {
            (each["name"], max(each["start_ns"], begin) - begin)
            for each in slices
            if each["start_ns"] < end and each["start_ns"] + each["dur_ns"] > begin
        }
        drawn = {(each["name"], each["start_ns"]) for track in picture["tracks"] for each in track["slices"]}
        assert drawn <= touching
        kernels = {each["name"] for each in slices if each["kind"] == "kernel"}
        assert {each for each in touching if each[0] in kernels} <= drawn
        proving = {each["name"] for track in picture["tracks"] for each in track["slices"] if each["proves"]}
        assert proving == {each["name"] for each in slices if each["slice"] in proof.slices}


def test_the_script_has_all_its_words(stepscope: Command, tmp_path: Path) -> None:
    stepscope("report", _STEPS, "-o", tmp_path / "report.html")
    used = set(re.findall(r"label\('(\w+)'\)", (tmp_path / "report.html").read_text("utf-8")))
    assert used == set(_page(tmp_path / "report.html")["labels"])


def test_a_comparison_is_a_page_too(stepscope: Command, tmp_path: Path) -> None:
    assert stepscope("report", _SLOW, _FAST, "--compare", "-o", tmp_path / "page.html").code == 0
    told = json.loads(stepscope("compare", _SLOW, _FAST, "--json").out)["data"]
    page = _page(tmp_path / "page.html")
    assert page["verdict"] == told["verdict"]["sentence"]
    assert [row[0] for row in _section(page, "explained")["rows"]] == [each["label"] for each in told["explained"]]
    assert stepscope("compare", _SLOW, _FAST, "--html", tmp_path / "same.html").code == 0
    assert _page(tmp_path / "same.html") == page


def test_the_summary_for_ci_is_short_and_begins_with_the_verdict(stepscope: Command) -> None:
    outcome = stepscope("report", _FOUR, "--markdown")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    told = json.loads(stepscope("diagnose", _FOUR, "--json").out)["data"]
    assert told["verdict"]["sentence"]["en"] in outcome.out
    assert len(lines) <= 60
    assert sum(line.startswith("| ") and "%" in line for line in lines) >= 4
    assert "迭代" in stepscope("report", _FOUR, "--markdown", "--lang", "zh").out


def test_all_tables_are_written_as_csv(stepscope: Command, tmp_path: Path) -> None:
    assert stepscope("report", _STEPS, "--csv", tmp_path / "tables").code == 0
    steps = json.loads(stepscope("steps", _STEPS, "--json").out)["data"]
    written = pl.read_csv(tmp_path / "tables" / "steps.csv")
    assert written["period_us"].to_list() == pytest.approx([step["period_us"] for step in steps])
    names = {path.stem for path in (tmp_path / "tables").iterdir()}
    assert {"summary_ranks", "operators", "diagnose_findings", "copies"} <= names


def test_a_workbook_has_a_sheet_per_table_and_no_formula(stepscope: Command, tmp_path: Path) -> None:
    pytest.importorskip("xlsxwriter")
    trace = gzip.decompress(_STEPS.read_bytes()).decode().replace("aten::addmm", "=1+1")
    (tmp_path / "trace.json").write_text(trace, "utf-8")
    outcome = stepscope("report", tmp_path / "trace.json", "-o", tmp_path / "run.xlsx")
    assert outcome.code == 0, outcome.err
    with zipfile.ZipFile(tmp_path / "run.xlsx") as book:
        sheets = re.findall(r'<sheet name="([^"]+)"', book.read("xl/workbook.xml").decode())
        cells = "".join(book.read(name).decode() for name in book.namelist() if "worksheets/" in name)
        texts = book.read("xl/sharedStrings.xml").decode()
    assert {"steps", "operators", "diagnose_findings"} <= set(sheets)
    assert "<f>" not in cells
    assert "=1+1" in texts


def test_without_the_library_for_workbooks_the_install_line_is_reported(
    stepscope: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "xlsxwriter" else whole(name, *rest)
    )
    outcome = stepscope("report", _STEPS, "-o", tmp_path / "run.xlsx")
    assert outcome.code == 2
    assert "pip install 'stepscope[xlsx]'" in outcome.err


def test_a_finding_becomes_a_bundle_for_an_issue_tracker(stepscope: Command, tmp_path: Path) -> None:
    assert stepscope("report", _STEPS, "--issue", 1, "-o", tmp_path / "bundle").code == 0
    text = (tmp_path / "bundle" / "issue.md").read_text("utf-8")
    finding = open_sample(_STEPS).diagnose().findings[0]
    assert text.startswith(f"# {finding.title.en}")
    assert "NVIDIA H200" in text
    assert "excerpt.json" in text
    excerpt = package.load(tmp_path / "bundle" / "excerpt.json")
    start, end = finding.proof[0].start_ns, finding.proof[0].end_ns
    assert start is not None
    assert end is not None
    before = {
        (name, begin)
        for name, begin, took in open_sample(_STEPS)
        .table("slices")
        .select("name", "start_ns", "dur_ns")
        .collect()
        .iter_rows()
        if begin < end and begin + took > start
    }
    after = set(excerpt.table("slices").select("name", "start_ns").collect().iter_rows())
    assert before <= after
    whole = open_sample(_STEPS).store.manifest.rows("slices")
    assert len(after) < whole / 2


def test_without_a_directory_the_issue_is_printed(stepscope: Command) -> None:
    outcome = stepscope("report", _STEPS, "--issue", 1)
    assert outcome.code == 0
    assert outcome.out.startswith("# The device of rank 0 waits for the host")
    assert "-o DIR" in outcome.out
    outcome = stepscope("report", _STEPS, "--issue", 99)
    assert outcome.code == 2
    assert "There is no finding 99" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["-o", "report.pdf"], ".html"),
        (["--csv"], "--csv DIR"),
        (["--issue", "1", "--markdown"], "--issue"),
        (["--compare", "-o", "report.html"], "--baseline"),
    ],
)
def test_wrong_usage_is_a_clear_error(
    stepscope: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = stepscope("report", _STEPS, *arguments)
    assert outcome.code == 2
    assert told in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_replaced_unasked_and_nothing_written_into_a_capture(stepscope: Command, tmp_path: Path) -> None:
    capture = tmp_path / "capture"
    capture.mkdir()
    (capture / "trace.json.gz").write_bytes(_STEPS.read_bytes())
    assert stepscope("report", capture, "-o", capture / "report.html").code == 2
    (tmp_path / "report.html").write_text("mine")
    assert stepscope("report", capture, "-o", tmp_path / "report.html").code == 2
    assert (tmp_path / "report.html").read_text() == "mine"
    assert stepscope("report", capture, "-o", tmp_path / "report.html", "--force").code == 0
    assert sorted(path.name for path in capture.iterdir()) == ["trace.json.gz"]


def test_two_ranks_or_two_steps_of_one_run_are_compared(stepscope: Command, tmp_path: Path) -> None:
    for number, sides in enumerate((["--rank-a", 0, "--rank-b", 2], ["--step-a", 4, "--step-b", 6])):
        page = tmp_path / f"{number}.html"
        outcome = stepscope("report", _FOUR, "--compare", *sides, "-o", page)
        assert outcome.code == 0, outcome.err
        told = json.loads(stepscope("compare", _FOUR, *sides, "--json").out)["data"]
        assert _page(page)["verdict"] == told["verdict"]["sentence"]
        assert [row[0] for row in _section(_page(page), "explained")["rows"]] == [
            each["label"] for each in told["explained"] if each["a_us"] or each["b_us"]
        ]


def test_sides_without_a_comparison_are_a_mistake(stepscope: Command, tmp_path: Path) -> None:
    outcome = stepscope("report", _FOUR, "--rank-a", 0, "--rank-b", 2, "-o", tmp_path / "page.html")
    assert (outcome.code, list(tmp_path.iterdir())) == (2, [])
    assert "--compare" in outcome.err


def test_json_lists_what_was_written(stepscope: Command, tmp_path: Path) -> None:
    page, tables = tmp_path / "report.html", tmp_path / "tables"
    document = json.loads(stepscope("report", _STEPS, "-o", page, "--csv", tables, "--json").out)
    assert document["schema"] == "stepscope.report/1"
    written = {entry["path"]: entry["bytes"] for entry in document["data"]["written"]}
    assert written == {
        str(tables): sum(file.stat().st_size for file in tables.iterdir()),
        str(page): page.stat().st_size,
    }
    outcome = stepscope("report", _STEPS, "--markdown", "--json")
    assert outcome.code == 2
    assert "-o FILE" in outcome.err


def test_a_notebook_shows_verdict_findings_and_the_step() -> None:
    run = open_sample(_FOUR)
    shown = run._repr_html_()
    diagnosis = run.diagnose()
    assert diagnosis.verdict.sentence.en in shown
    assert all(finding.title.en in shown for finding in diagnosis.findings[:5] if ">" not in finding.title.en)
    assert shown.count("rank ") >= 4
    assert "<script" not in shown
    assert len(shown) < 20_000
