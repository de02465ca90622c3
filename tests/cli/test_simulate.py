"""The command simulate."""

from __future__ import annotations

import json
from pathlib import Path

from support.commands import Command

_SMALL = """
steps = 3
[plan]
dp = 2
[workload]
layers = 2
hidden = 512
sequence = 512
[[faults]]
kind = "slow_rank"
cause = "compute"
ranks = [1]
"""


def test_a_scenario_file_becomes_a_run_with_its_truth(stepscope: Command, tmp_path: Path) -> None:
    scenario = tmp_path / "mine.toml"
    scenario.write_text(_SMALL, "utf-8")
    out = tmp_path / "out"

    done = stepscope("simulate", scenario, "-o", out, "--seed", 3)
    assert done.code == 0, done.err
    assert "slow_rank (compute)" in done.out
    told = json.loads((out / "truth.json").read_text("utf-8"))
    assert (told["scenario"], told["seed"], told["world_size"]) == ("mine", 3, 2)
    assert told["faults"][0]["ranks"] == [1]
    asked = stepscope("summary", out, "--json")
    assert asked.code == 0, asked.err
    answer = json.loads(asked.out)
    mean = sum(rank["period_us"] for rank in answer["data"]["ranks"]) / 2
    assert abs(mean - told["step_us"]) < 1e-3 * mean
    assert stepscope("simulate", scenario, "-o", out).code == 2  # nothing is overwritten


def test_more_ranks_and_steps_on_request(stepscope: Command, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = stepscope("simulate", "healthy", "-o", out, "--ranks", 2, "--steps", 2, "--detail", "steps")

    assert done.code == 0, done.err
    answer = json.loads(stepscope("steps", out, "--json").out)
    assert sorted((row["rank"], row["step"]) for row in answer["data"]) == [(0, 3), (0, 4), (1, 3), (1, 4)]


def test_mistakes_get_a_sentence(stepscope: Command, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert stepscope("simulate", "no-such", "-o", out).code == 2
    assert stepscope("simulate", tmp_path / "absent.toml", "-o", out).code == 3
    broken = tmp_path / "broken.toml"
    slow = "[[faults]]\nkind = 'slow_host'\nhosts = [{host}]\nstrength = 0.2\n"
    for text, reason in (
        ("[plan]\ndp = 0\n", "plan.dp must be an integer from 1 to 1,000,000"),
        ("[plan]\ndp = 2.0\n", "plan.dp must be an integer"),
        ("plan = 3\n", "plan must be a table"),
        ("seed = -1\n", "seed must be an integer of at least 0"),
        ("[host]\npython_us = inf\n", "host.python_us must be a number from 0 to 1,000,000,000"),
        ("[device]\nkind = 'tpu'\n", "device.kind must be one of cpu, gpu, npu"),
        ("[[faults]]\nkind = 'idle_gap'\nstrength = 1.0\n", "one of clear, mild; or a number above 0 and below 1"),
        ("[[faults]]\nkind = 'slow_link'\nlinks = [[0, 1, 2]]\n", "faults[0].links[0] must be a list of 2 values"),
        ("[input]\nstages = [{ us = 3 }]\n", "input.stages[0].name is missing"),
        ("[plan]\ndp = 100000\ntp = 2\n", "200,000 ranks, more than 100,000"),
        ("[plan]\ndp = 4\nep = 4\n[workload]\nexperts = 6\n", "workload.experts (6) must be a multiple"),
        ("[plan]\ntp = 4\n[workload]\nhidden = 2\n", "workload.hidden (2) cannot be split"),
        ("[plan]\ncp = 4\n[workload]\nsequence = 2\n", "workload.sequence (2) cannot be split"),
        ("[workload]\nbackward = [{ name = 'mm', count = 1, kernel_us = 1 }]\n", "needs workload.forward"),
        ("[plan]\nmicro_batch = 1\n", "Similar keys: micro_batches"),
        ("not toml", "not valid TOML"),
        ("[plan]\ndp = 3\nep = 2\n", "multiple of plan.ep"),
        ("[network]\nbetween = 'wire'\n", "the network wire is not known"),
        ("[device]\nkind = 'gpu'\nname = 'Abacus'\n", "the speed of Abacus is not known"),
        (slow.format(host=7), "the job has hosts 0 to 0"),
    ):
        broken.write_text(text, "utf-8")
        failed = stepscope("simulate", broken, "-o", out)
        assert failed.code == 3
        assert "cannot be used" in failed.err
        assert reason in failed.err
    assert stepscope("simulate", "healthy-3d", "-o", out, "--ranks", 3).code == 2
    assert stepscope("simulate", "healthy", "-o", out, "--format", "wax").code == 2
    assert stepscope("simulate", "healthy", "-o", out, "--detail", "some").code == 2
    assert not out.exists()


def test_mistakes_are_told_in_chinese_without_english_words(stepscope: Command, tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    for text, reason in (
        ("[plan]\ndp = 0\n", "plan.dp 应为：1 至 1,000,000 的整数。"),
        ("noise = 'loud'\n", "noise 应为：none, quiet, wide 之一。"),
        ("[device]\nmemory_gib = 0\n", "device.memory_gib 应为：大于 0 且不超过 1,000,000 的数。"),
    ):
        broken.write_text(text, "utf-8")
        failed = stepscope("simulate", broken, "-o", tmp_path / "out", "--lang", "zh")
        assert failed.err.endswith(f"无法使用：{reason}\n")


def test_a_job_longer_than_clocks_can_count_is_refused(stepscope: Command, tmp_path: Path) -> None:
    """Times beyond what 64 bits hold would wrap around in silence."""
    endless = tmp_path / "endless.toml"
    for text in (
        "[device]\ntflops = 1e-300\nmemory_gb_per_s = 1.0\n",
        "[plan]\ndp = 2\n[network.rates]\nNVLINK = { gb_per_s = 1e-300, latency_us = 1.0 }\n",
        "[host]\npython_us = 1e9\n[plan]\ndp = 2\n[[faults]]\nkind = 'slow_rank'\namount = 1e9\n",
    ):
        endless.write_text(text, "utf-8")
        failed = stepscope("simulate", endless, "-o", tmp_path / "out")
        assert (failed.code, "longer than ten days" in failed.err) == (2, True)
        assert not (tmp_path / "out").exists()


def test_a_file_with_a_byte_order_mark_is_read(stepscope: Command, tmp_path: Path) -> None:
    marked = tmp_path / "marked.toml"
    marked.write_text(_SMALL, "utf-8-sig")
    assert stepscope("simulate", marked, "-o", tmp_path / "out").code == 0
