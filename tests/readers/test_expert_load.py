"""Dumps of expert load, made by hand: counts by layer and expert; a dump that was cut off gives no half count."""

from __future__ import annotations

from pathlib import Path

import stepscope


def test_counts_of_whole_lines_are_read_and_a_cut_one_is_reported(tmp_path: Path) -> None:
    (tmp_path / "model_gen_config.json").write_text('{"num_moe_layers": 2, "num_of_experts": 2}')
    (tmp_path / "decode_0.csv").write_text("10,30\n40,17")
    run = stepscope.load(tmp_path, progress=False)
    counts = run.sql("SELECT step, key, value FROM reported WHERE metric = 'decode tokens' ORDER BY key").rows()
    assert counts == [(0, "expert 0", 10.0), (0, "expert 1", 30.0)]
    assert {note.code for note in run.notes} >= {"last_line_cut", "expert_layers_differ"}
