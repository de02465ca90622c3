"""What other tools say of strangers' captures: TraceLens' reports, the vendor's own tables."""

from __future__ import annotations

from typing import Any

import pytest

from outside.captures import opened, outside


def _steps(name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = opened(name).steps().to_dicts()
    return rows


def test_work_from_before_the_window_is_no_steps_work() -> None:
    """TraceLens has 19.2 ms of computing for the three steps together."""
    rows = _steps("tracelens/resnet_checkpoint_mi300_rank0of8.json.gz")
    assert [row["step"] for row in rows] == [15, 16, 17]
    assert sum(row["computing_us"] for row in rows) == pytest.approx(19_200, abs=50)
    assert max(row["computing_us"] for row in rows) < 1.02 * min(row["computing_us"] for row in rows)


def test_busy_and_idle_time_of_an_h100() -> None:
    """TraceLens counts memory sets as computing: 31.9 ms; and 2.987 ms without any work."""
    (row,) = _steps("tracelens/qwen15_h100.json.gz")
    assert row["computing_us"] + row["exposed_copy_us"] == pytest.approx(31_900, abs=50)
    assert row["free_us"] == pytest.approx(2_987, abs=0.5)


def test_busy_and_idle_time_of_an_mi300() -> None:
    (row,) = _steps("tracelens/qwen15_mi300.json.gz")
    assert row["computing_us"] == pytest.approx(29_743, abs=0.5)
    assert row["free_us"] == pytest.approx(3_387, abs=0.5)


def test_a_device_that_works_on_what_is_not_in_the_file_is_not_idle() -> None:
    """One batch cut out of a serving trace: its kernels were launched and began 463.3 ms later, all at once."""
    run = opened("tracelens/sglang_decode_mi300.json.gz")
    (row,) = run.steps().to_dicts()
    assert row["computing_us"] == pytest.approx(9_759.749)
    assert row["idle_us"] < 0.1 * row["period_us"] < 1_100
    (entry,) = run.summary().ranks
    assert entry.window is not None
    assert entry.window.free_us == row["idle_us"]
    assert {finding.severity for finding in run.diagnose().findings} <= {"info"}


def test_a_batch_that_waits_for_the_one_before_it_is_not_idle() -> None:
    """vLLM launches the next batch 7.8 ms before the device has finished what the file does not show."""
    (row,) = _steps("tracelens/vllm_decode_graph_mi300.json.gz")
    assert row["computing_us"] == pytest.approx(10_674.517)
    assert row["idle_us"] < 0.01 * row["period_us"]


@pytest.mark.parametrize(
    "name", ["sglang_decode_mi300.json.gz", "vllm_decode_graph_mi300.json.gz", "b200_eager_nccl_rank0of8.json.gz"]
)
def test_batches_of_serving_engines_are_steps(name: str) -> None:
    run = opened(f"tracelens/{name}")
    (step,) = run.table("steps").collect().to_dicts()
    assert (step["step"], step["marks_from"]) == (0, "serving_batch")
    assert "no_step_marks" not in {note.code for note in run.notes}


def test_parts_of_communication_on_ascend_are_no_copies() -> None:
    """At level 0 the 72 tasks of 27.9 ms that move the data of HCCL stand on a stream and on no plane."""
    run = opened("msinsight/text_level0")
    for rank, (computing, communication) in enumerate([(8827.473, 85516.889), (8813.173, 68605.710)]):  # the vendor's
        (row,) = run.steps(ranks=[rank]).to_dicts()
        assert row["computing_us"] == pytest.approx(computing, abs=0.03)
        assert row["communication_us"] == pytest.approx(communication, abs=0.03)
    moved = run.sql(
        "SELECT kind, count(*), sum(dur_ns) FROM slices WHERE name = 'SDMA' AND rank = 0 GROUP BY kind"
    ).rows()
    ((kind, count, spent_ns),) = moved
    assert (kind, count) == ("comm_task", 72)
    assert spent_ns == pytest.approx(27_868_200, abs=100)


def test_a_trace_of_2021_trains_and_its_loader_is_seen() -> None:
    """Kineto's sample for TensorBoard: without workers, fetching takes 62.6 to 73.4 ms of every step."""
    run = opened("tb_plugin/resnet50_workers0_v100.pt.trace.json.gz")
    assert {row["mode"] for row in run.steps().to_dicts()} == {"training"}
    fetches = run.sql(
        "SELECT count(*), min(dur_ns) FROM slices WHERE kind = 'annotation' AND name LIKE 'enumerate(DataLoader)%'"
    ).row(0)
    assert fetches == (6, 62_633_000)
    assert run.pipeline().starving[0].count == 6
    assert run.diagnose().findings[0].kind == "data_starved"


def test_what_a_checkpoint_computes_again_is_no_work_of_the_model() -> None:
    """ResNet-18 with 19 of its 20 convolutions computed twice, by a checkpoint without reentrance."""
    answer = opened("tracelens/resnet_checkpoint_mi300_rank0of8.json.gz").flops()
    for step in answer.steps:
        assert step.flops / 1e9 == pytest.approx(140.4, abs=0.05)
        assert step.model_flops / 1e9 == pytest.approx(106.5, abs=0.05)


def test_products_of_an_amd_gpu_run_on_its_matrix_units() -> None:
    answer = opened("tracelens/qwen15_mi300.json.gz").flops()
    shares = {(row.name, row.dtype): row.tensor_core_share for row in answer.operators}
    assert shares["aten::mm", "bf16"] == shares["aten::addmm", "bf16"] == 1.0
    assert ("aten::bmm", "fp32") in shares, "the matrix units of AMD compute 32 bit in full"


def test_rates_of_a_replayed_graph_are_called_lower_bounds() -> None:
    answer = opened("tracelens/vllm_decode_graph_mi300.json.gz").ask("flops")
    (note,) = [note for note in answer.notes if note.code == "flops_in_graphs_unknown"]
    assert float(note.params["share"].rstrip("%")) > 80


def test_expert_load_of_a_model_is_read_cell_by_cell() -> None:
    """58 rows of 4 columns, as the text of the file says; the description states 59 layers."""
    run = opened("msinsight/expert_hotspot")
    for phase in ("decode", "prefill"):
        lines = outside(f"msinsight/expert_hotspot/{phase}_0.csv").read_text().splitlines()
        expected = [[float(cell) for cell in line.split(",")] for line in lines]
        rows = run.sql(
            f"SELECT step, value FROM reported WHERE metric = '{phase} tokens' "
            "ORDER BY step, try_cast(key[8:] AS INTEGER)"
        ).rows()
        assert [value for _, value in rows] == [value for line in expected for value in line]
        spread = run.sql(f"SELECT value FROM reported WHERE metric = '{phase} max/mean' ORDER BY step")[
            "value"
        ].to_list()
        assert spread == pytest.approx([max(line) * len(line) / sum(line) for line in expected])


def test_calls_that_name_no_group_are_matched_where_all_ranks_end_them_together() -> None:
    """DLRM on 8 V100: eight NCCL calls, which end within 7 us on all ranks; waits are what the shortest member lacks.

    By the files' text, 46.806 ms of 48.542 ms in calls are waits for the last rank.
    """
    run = opened("param_dlrm8")
    waits = {row.rank: row.wait_us for row in run.ask("ranks").data.ranks}
    assert waits == {0: 5581, 1: 11119, 2: 3275, 3: 9557, 4: 6370, 5: 6034, 6: 3341, 7: 1529}
    diagnosis = run.diagnose()
    (waiting,) = [each for each in diagnosis.path if each.question == "waiting"]
    assert waiting.value == pytest.approx(46_806 / 48_542, abs=0.01)
    (exposed,) = [each for each in diagnosis.findings if each.kind == "exposed_communication"]
    assert (exposed.cause, exposed.severity) == ("waiting", "info")
    assert len(exposed.ranks) == 8
