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
        ("[plan]\ndp = 0\n", "at plan.dp"),
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
