"""FLOPs of real captures, against what follows from the models."""

from __future__ import annotations

import pytest

from analysis.captures import opened
from stepscope.analysis.flops import flops
from stepscope.errors import NoAnswerError


def test_a_language_model_on_a_gpu_by_hand() -> None:
    """12 blocks of width 768, 12 heads, 8 sequences of 1,024 tokens, 8,192 words, bf16."""
    found = flops(opened("kineto/gpt_bf16.json.gz")).data
    tokens, width, words, layers = 8 * 1024, 768, 8192, 12
    weights = layers * (3 * width * width + width * width + 2 * width * 4 * width) + width * words
    products = 3 * 2 * tokens * weights  # forward, and the gradients of data and weights
    scores = layers * 4 * 8 * 12 * 1024 * 1024 * 64 // 2  # causal
    assert [(step.flops, step.model_flops) for step in found.steps] == [
        (products + scores * 7 // 2, products + scores * 3)
    ] * 3
    assert {row.dtype for row in found.operators} == {"bf16"}
    matmuls = [row for row in found.operators if row.kind == "matmul"]
    assert sum(row.flops for row in matmuls) == 3 * products
    assert all(row.tensor_core_share == 1.0 and row.bound == "compute" for row in matmuls)
    for step in found.steps:
        seconds = step.duration_us / 1e6
        assert step.hfu_share == pytest.approx(step.flops / seconds / 989.4e12)
        assert step.mfu_share == pytest.approx(step.model_flops / seconds / 989.4e12)


def test_the_models_rate_leaves_out_what_attention_computes_again() -> None:
    """Four such blocks in 32 bit: products on the ordinary units, attention as 3xTF32 on tensor cores."""
    found = flops(opened("kineto/gpt_fp32_snap.json.gz")).data
    tokens, width, words, layers = 8 * 1024, 768, 8192, 4
    weights = layers * (3 * width * width + width * width + 2 * width * 4 * width) + width * words
    products = 3 * 2 * tokens * weights
    scores = layers * 4 * 8 * 12 * 1024 * 1024 * 64 // 2  # causal
    attention = [row for row in found.operators if row.kind == "attention"]
    assert {(row.dtype, row.peak_flops_per_s) for row in attention} == {("3xtf32", 494.7e12 / 3)}
    for row in found.steps[1:]:  # the first may hold work from before the window
        seconds = row.duration_us / 1e6
        assert row.model_flops_per_s == pytest.approx((products + scores * 3) / seconds)
        assert row.flops_per_s == pytest.approx((products + scores * 7 // 2) / seconds)
        assert row.mfu_share == pytest.approx((products / 66.9e12 + scores * 3 / 494.7e12) / seconds)
        assert row.hfu_share == pytest.approx((products / 66.9e12 + 3 * scores * 7 / 2 / 494.7e12) / seconds)
        assert row.mfu_share == pytest.approx(0.546, abs=2e-3)


@pytest.mark.parametrize("rank", [0, 1])
def test_a_vision_model_on_an_npu_by_hand(rank: int) -> None:
    """AlexNet, 32 images: shapes of the model, though the device fills 3 channels up to 8."""
    answer = flops(opened("ascend", "text_level1"), ranks=[rank])
    convolutions = [  # channels in, channels out, filter, output
        (3, 64, 11, 55),
        (64, 192, 5, 27),
        (192, 384, 3, 13),
        (384, 256, 3, 13),
        (256, 256, 3, 13),
    ]
    each = [2 * 32 * size * size * outputs * inputs * edge * edge for inputs, outputs, edge, size in convolutions]
    linear = 2 * 32 * (9216 * 4096 + 4096 * 4096 + 4096 * 1000)
    found = {row.name: row.flops for row in answer.data.operators}
    assert found == {
        "Conv2D": sum(each),
        "Conv2DBackpropFilter": sum(each),
        "Conv2DBackpropInput": sum(each[1:]),  # images need no gradient
        "aten::addmm": linear,
        "aten::mm": 2 * linear,
    }
    assert {row.name: row.dtype for row in answer.data.operators if row.kind == "convolution"} == {
        "Conv2D": "hf32",
        "Conv2DBackpropFilter": "hf32",
        "Conv2DBackpropInput": "hf32",
    }
    assert not [note for note in answer.notes if note.code == "flops_of_filled_channels"]


def test_the_peak_of_an_npu_from_its_own_counters() -> None:
    """24 cores of 1.8 GHz (the capture's frequency is 1,800 MHz, its widest matrix kernel has 24 blocks)."""
    store = opened("ascend", "text_level1")
    (rank,) = flops(store, ranks=[0]).data.ranks
    assert rank.peak_origin == "counters"
    assert rank.peaks_flops_per_s["fp16"] == pytest.approx(24 * 1.8e9 * 8192, rel=1e-4)
    assert rank.peaks_flops_per_s["hf32"] == pytest.approx(24 * 1.8e9 * 4096, rel=1e-4)
    rows = flops(store).data.operators
    assert all(row.peak_share is not None and 0 < row.peak_share < 1 for row in rows)


def test_text_and_database_tell_the_same_flops() -> None:
    counts = [
        {row.name: (row.count, row.flops) for row in flops(opened("ascend", window), ranks=[0]).data.operators}
        for window in ("text_level1", "db_level1")
    ]
    assert counts[0] == counts[1]


def test_kernels_of_mindspore_carry_shapes_themselves() -> None:
    answer = flops(opened("mindinsight/run_2"))
    found = {row.name: (row.count, row.flops) for row in answer.data.operators}
    # AlexNet with 2 images and 2 classes: three layers, forward and two gradients each.
    layers = 2 * 2 * (9216 * 4096 + 4096 * 4096 + 4096 * 2)
    assert found["MatMul"] == (9, 3 * layers)
    # Its convolutions are stored in blocks of 16 channels, and nothing tells how many of them the model has.
    assert [note.code for note in answer.notes] == ["flops_of_filled_channels", "no_peak"]


def test_a_capture_without_shapes_says_which_switch_records_them() -> None:
    store = opened("kineto/h200_plain.json.gz")
    with pytest.raises(NoAnswerError, match="record_shapes=True"):
        flops(store)
