"""From a module down to slices, and the tables at a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from analysis.captures import opened
from analysis.stores import make_store
from stepscope.analysis.drill import Drill, drill
from stepscope.analysis.flops import flops
from stepscope.analysis.operators import operators
from stepscope.errors import NoAnswerError, UsageError
from stepscope.questions import QUESTIONS
from stepscope.report import flops as flops_report
from stepscope.report import operators as operators_report
from stepscope.store.run_store import RunStore


def _kernel(name: str, dur: int, operator: str, module: str | None, **more: Any) -> dict[str, Any]:
    where = {"operator": operator, "module": module, "core": "GPU", "track": 1}
    return {"kind": "kernel", "name": name, "start_ns": dur * 10, "dur_ns": dur, "step": 1, **where, **more}


def _store(directory: Path) -> RunStore:
    slices = [
        _kernel("gemm", 40, "aten::mm", "Net_0/Linear_0"),
        _kernel("gemm", 30, "aten::mm", "Net_0/Linear_1"),
        _kernel("bias", 10, "aten::mm", "Net_0/Linear_0"),
        _kernel("relu", 5, "aten::relu", "Net_0"),
        _kernel("adam", 15, "aten::_foreach_add_", None),
        _kernel("gemm", 99, "aten::mm", "Network_1"),
    ]
    return make_store(directory, slices=slices, tracks=[{"track": 1, "kind": "stream"}])


def _opened(store: RunStore, **asked: Any) -> Drill:
    answer = drill(store, **asked)
    msgspec.convert(answer.plain(), Drill)
    return answer.data


def test_down_from_the_top_to_slices(tmp_path: Path) -> None:
    store = _store(tmp_path)
    top = _opened(store)
    assert (top.next, top.count, top.total_us) == ("module", 6, 0.199)
    module = _opened(store, by="module", name="Net_0")  # with its submodules, but without Network_1
    assert (module.next, module.count, module.total_us) == ("operator", 4, 0.085)
    assert [(part.name, part.count, part.total_us) for part in module.parts] == [
        ("aten::mm", 3, 0.08),
        ("aten::relu", 1, 0.005),
    ]
    assert module.parts[0].share == pytest.approx(80 / 85)
    operator = _opened(store, by="operator", name="aten::mm", module="Net_0/Linear_0")
    assert (operator.next, [part.name for part in operator.parts]) == ("kernel", ["gemm", "bias"])
    kernel = _opened(store, by="kernel", name="gemm", module="Net_0", operator="aten::mm")
    assert (kernel.next, kernel.parts) == ("slice", [])
    assert [(part.slice, part.duration_us, part.start_ns) for part in kernel.slices] == [(0, 0.04, 400), (1, 0.03, 300)]


def test_the_row_without_a_name_and_rows_that_are_not_there(tmp_path: Path) -> None:
    store = _store(tmp_path)
    assert [part.name for part in _opened(store, by="module", name="").parts] == ["aten::_foreach_add_"]
    with pytest.raises(NoAnswerError, match="named Net_9"):
        drill(store, by="module", name="Net_9")
    with pytest.raises(NoAnswerError, match="no operator named aten::none"):
        drill(store, operator="aten::none", module="Net_0")
    with pytest.raises(NoAnswerError, match="No kernels or operators match"):
        drill(store, lane="copy")


def test_what_cannot_be_meant_is_refused(tmp_path: Path) -> None:
    store = _store(tmp_path)
    with pytest.raises(UsageError, match="by cannot be colour"):
        QUESTIONS["drill"].ask(store, by="colour", name="red")
    with pytest.raises(UsageError, match="lane cannot be fast"):
        QUESTIONS["drill"].ask(store, lane="fast")
    with pytest.raises(UsageError, match="add --by with one of module, "):
        drill(store, name="gemm")


def test_a_drilled_row_is_the_row_of_operators() -> None:
    store = opened("kineto/gpt_stack.json.gz")
    for by in ("operator", "kernel", "type", "category", "core"):
        for row in operators(store, by=by, side="device").data.to_dicts():
            found = drill(store, by=by, name=row["name"], limit=3).data
            assert found.count == row["count"]
            assert found.total_us == pytest.approx(row["total_us"])


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_tables_at_a_terminal(capsys: pytest.CaptureFixture[str], lang: str) -> None:
    store = opened("kineto/gpt_stack.json.gz")
    for by in ("kernel", "operator", "module", "category"):
        operators_report.show(operators(store, by=by), lang)
        shown = capsys.readouterr().out
        assert "11.160 ms" in shown or by == "category"  # 11,159.624 us of kernels
        assert len(shown.splitlines()) < 60
    flops_report.show(flops(store), lang)
    shown = capsys.readouterr().out
    assert "NVIDIA H200" in shown
    assert "aten::mm" in shown
    assert ("受限于计算" if lang == "zh" else "limited by computing") in shown
