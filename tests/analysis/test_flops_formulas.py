"""FLOPs and bytes of single calls, worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from stepscope.analysis.flops.formulas import cost, fitted, known_names
from stepscope.analysis.flops.shapes import Shape, arguments, dtypes, lists, shapes, whole_numbers
from stepscope.analysis.flops.typed import typed_cost

_BF16 = ("bf16",) * 16


@pytest.mark.parametrize(
    ("name", "inputs", "flops", "moved"),
    [
        # 2 m k n; bytes = 2 (m k + k n + m n)
        ("aten::mm", [(3, 5), (5, 7)], 2 * 3 * 5 * 7, 2 * (15 + 35 + 21)),
        ("aten::addmm", [(7,), (3, 5), (5, 7), (), ()], 210, 2 * (7 + 15 + 35 + 21)),
        ("aten::bmm", [(4, 3, 5), (4, 5, 7)], 840, 2 * 4 * 71),
        ("aten::baddbmm", [(4, 3, 7), (4, 3, 5), (4, 5, 7)], 840, 2 * 4 * (21 + 71)),
        ("aten::linear", [(2, 6, 5), (7, 5), (7,)], 2 * 12 * 5 * 7, 2 * (60 + 35 + 7 + 84)),
        ("aten::matmul", [(2, 1, 3, 5), (5, 7)], 420, 2 * (30 + 35 + 42)),
        ("aten::matmul", [(3, 5), (4, 5, 7)], 840, 2 * (15 + 140 + 84)),
        ("aten::matmul", [(3, 5), (5,)], 30, 2 * (15 + 5 + 3)),
        ("aten::matmul", [(5,), (5, 7)], 70, 2 * (5 + 35 + 7)),
        ("aten::matmul", [(5,), (5,)], 10, 2 * (5 + 5 + 1)),
        ("aten::_grouped_mm", [(9, 5), (4, 5, 7), (4,)], 2 * 9 * 5 * 7, 2 * (45 + 140 + 4 + 63)),
        # Grouped heads: 8 for queries, 2 for keys and values.
        (
            "aten::scaled_dot_product_attention",
            [(1, 8, 16, 4), (1, 2, 32, 4), (1, 2, 32, 4)],
            4 * 8 * 16 * 32 * 4,
            None,
        ),
        ("aten::_flash_attention_forward", [(1, 16, 8, 4), (1, 32, 2, 4), (1, 32, 2, 4)], 4 * 8 * 16 * 32 * 4, None),
    ],
)
def test_formulas(name: str, inputs: list[Shape], flops: int, moved: int | None) -> None:
    found = cost(name, inputs, _BF16, ())
    assert found is not None
    assert found.flops == flops
    assert moved is None or found.bytes == moved


@pytest.mark.parametrize("causal", ["True", "False"])
def test_causal_attention_counts_half(causal: str) -> None:
    inputs = [(2, 3, 16, 8)] * 3
    given = ("", "", "", "", "0.", causal, "", "False")
    found = cost("aten::scaled_dot_product_attention", inputs, _BF16, given)
    assert found is not None
    assert found.flops == 4 * 2 * 3 * 16 * 16 * 8 // (2 if causal == "True" else 1)


def test_backward_of_attention_is_five_products_one_of_them_done_again() -> None:
    found = cost("aten::_scaled_dot_product_flash_attention_backward", [(2, 3, 16, 8)] * 5, _BF16, ())
    assert found is not None
    once = 2 * 2 * 3 * 16 * 16 * 8
    assert (found.flops, found.again) == (5 * once, once)


_STRIDES = ("", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1")


def test_convolutions() -> None:
    forward = cost("aten::convolution", [(2, 3, 33, 29), (8, 3, 3, 3), (8,)], _BF16, _STRIDES)
    # (33 + 2 - 2 - 1) // 2 + 1 = 17, (29 + 2 - 2 - 1) // 2 + 1 = 15
    assert forward is not None
    assert forward.flops == 2 * 2 * 17 * 15 * 8 * 3 * 9
    assert forward.bytes == 2 * (2 * 3 * 33 * 29 + 8 * 27 + 8 + 2 * 8 * 17 * 15)
    grouped = ("", "", "", "[1, 1]", "[2, 2]", "[2, 2]", "False", "[0, 0]", "4")
    found = cost("aten::_convolution", [(2, 8, 17, 15), (16, 2, 5, 5), (16,)], _BF16, grouped)
    assert found is not None
    assert found.flops == 2 * 2 * 13 * 11 * 16 * 2 * 25  # each output sees 2 of the 8 channels
    transposed = ("", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "True", "[0, 0]", "1")
    found = cost("aten::convolution", [(2, 16, 13, 11), (16, 4, 4, 4), (4,)], _BF16, transposed)
    assert found is not None
    assert found.flops == 2 * 2 * 13 * 11 * 16 * 4 * 16
    assert found.bytes == 2 * (2 * 16 * 143 + 16 * 4 * 16 + 4 + 2 * 4 * 26 * 22)
    one = ("", "", "", "[1]", "[0]", "[1]", "False", "[0]", "1")
    found = cost("aten::convolution", [(4, 50), (6, 4, 3)], _BF16, one)  # no batch
    assert found is not None
    assert found.flops == 2 * 48 * 6 * 4 * 3


@pytest.mark.parametrize(
    ("mask", "times"), [("[True, True, False]", 2), ("[False, True, True]", 1), ("[False, False, True]", 0)]
)
def test_backward_of_a_convolution_counts_the_gradients_asked_for(mask: str, times: int) -> None:
    given = ("", "", "", "[8]", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1", mask)
    found = cost("aten::convolution_backward", [(2, 8, 17, 15), (2, 3, 33, 29), (8, 3, 3, 3)], _BF16, given)
    assert found is not None
    assert found.flops == times * 2 * 2 * 17 * 15 * 8 * 3 * 9


@pytest.mark.parametrize(
    ("name", "inputs", "given"),
    [
        ("aten::mm", [(3, 5), (6, 7)], ()),  # sizes that do not meet
        ("aten::mm", [(3, 5)], ()),
        ("aten::mm", [None, (5, 7)], ()),
        ("aten::bmm", [(3, 5), (5, 7)], ()),
        ("aten::convolution", [(2, 3, 33, 29), (8, 3, 3, 3), (8,)], ()),  # no stride known
        ("aten::convolution", [(2, 3, 33, 29), (8, 3, 3, 3), (8,)], (*_STRIDES[:3], "[0, 0]", *_STRIDES[4:])),
        ("aten::convolution", [(2, 3, 33, 29)], _STRIDES),
        ("aten::relu", [(3, 5)], ()),
    ],
)
def test_what_cannot_be_known_is_not_guessed(name: str, inputs: list[Shape | None], given: tuple[str, ...]) -> None:
    assert cost(name, inputs, _BF16, given) is None


_WEIGHTS = ((64, 8), (64, 16), (64,), (64,))  # four gates of 16, of 8 inputs and 16 states
_MASKED = ("",) * 21


@pytest.mark.parametrize(
    ("name", "dims", "given", "flops"),
    [
        ("aten::lstm", "[[4, 5, 8], [[1, 4, 16], [1, 4, 16]], {weights}, []]", (), 1),
        ("aten::lstm", "[[20, 8], [5], [[1, 4, 16], [1, 4, 16]], {weights}, []]", (), 1),  # packed
        ("aten::gru", "[[5, 4, 8], [1, 4, 16], {weights}, []]", (), 1),
        ("aten::_cudnn_rnn", "[[5, 4, 8], {weights}, [], [1664], [1, 4, 16]]", (), 1),
        ("aten::_cudnn_rnn_backward", "[[5, 4, 8], {weights}]", (*_MASKED, "[True, False, False, True]"), 2),
        ("aten::_cudnn_rnn_backward", "[[5, 4, 8], {weights}]", (*_MASKED, "[True, True, True, False]"), 1),
        ("aten::miopen_rnn_backward", "[[5, 4, 8], {weights}]", (*_MASKED[1:], "[True, True, True, True]"), 2),
        ("aten::mkldnn_rnn_layer", "[[5, 4, 8], [64, 8], [64, 16], [64], [64], [4, 16], [4, 16]]", (), 1),
        ("aten::mkldnn_rnn_layer_backward", "[[5, 4, 8], [64, 8], [64, 16], [64], [64]]", (), 2),
    ],
)
def test_recurrent_layers(name: str, dims: str, given: tuple[str, ...], flops: int) -> None:
    """5 moments of 4 sequences."""
    text = dims.format(weights=[list(shape) for shape in _WEIGHTS])
    found = cost(name, shapes(text), _BF16, given, lists(text))
    assert found is not None
    assert found.flops == flops * 2 * 5 * 4 * 64 * (8 + 16)


@pytest.mark.parametrize(
    ("name", "dims"),
    [
        ("aten::lstm", "[[4, 5, 8], [[1, 4, 16], [1, 4, 16]], [], []]"),  # lists of many tensors are not recorded
        ("aten::lstm", "[[], [], [[64, 8]]]"),
        ("aten::_cudnn_rnn_backward", "[[5, 4, 8], [[64, 8], [64, 16]]]"),  # no mask
    ],
)
def test_recurrent_layers_of_unknown_sizes_have_no_cost(name: str, dims: str) -> None:
    assert cost(name, shapes(dims), _BF16, (), lists(dims)) is None


def test_bytes_need_known_element_types() -> None:
    found = cost("aten::mm", [(3, 5), (5, 7)], ("bf16", None), ())
    assert found is not None
    assert (found.flops, found.bytes) == (210, None)


def test_every_formula_uses_sizes_that_its_inputs_name() -> None:
    for name in known_names():
        inputs = [(2, 3, 4, 5)] * 6
        cost(name, inputs, _BF16, ("",) * 20)  # no name may be unknown, whatever fits
    assert fitted(["*k", "nk"], [(2, 3, 5), (7, 5)]) == {"k": 5, "n": 7, "*": 6}


_ND = "FORMAT_ND;FORMAT_ND->FORMAT_ND"


@pytest.mark.parametrize(
    ("kind", "inputs", "outputs", "formats", "flops"),
    [
        ("MatMulV2", [(32, 9216), (4096, 9216), (4096,)], [(32, 4096)], _ND, 2 * 32 * 9216 * 4096),  # second transposed
        ("MatMulV2", [(32, 1000), (32, 4096)], [(1000, 4096)], _ND, 2 * 1000 * 32 * 4096),  # first transposed
        ("MatMul", [(2, 256, 6, 6), (4096, 9216)], [(2, 4096)], "DefaultFormat", 2 * 2 * 9216 * 4096),
        ("BatchMatMulV2", [(8, 4, 16, 32), (8, 4, 32, 64)], [(8, 4, 16, 64)], _ND, 2 * 32 * 16 * 32 * 64),
        ("BatchMatMul", [(8, 16, 32), (32, 64)], [(8, 16, 64)], _ND, 2 * 8 * 16 * 32 * 64),
        # In blocks of 16 x 16: 64 x 32 times 32 x 128.
        (
            "MatMulV2",
            [(2, 4, 16, 16), (8, 2, 16, 16)],
            [(8, 4, 16, 16)],
            "FRACTAL_NZ;FRACTAL_NZ->FRACTAL_NZ",
            2 * 64 * 32 * 128,
        ),
        ("BatchMatMulV2", [(64, 32), (16, 32, 48)], [(16, 64, 48)], _ND, 2 * 16 * 64 * 32 * 48),  # one A for all
        ("BatchMatMulV2", [(8, 1, 16, 32), (4, 32, 64)], [(8, 4, 16, 64)], _ND, 2 * 32 * 16 * 32 * 64),
        ("BatchMatMulV2", [(512, 32), (32, 64)], [(8, 64, 64)], _ND, 2 * 512 * 32 * 64),  # rows of A in one
        ("BatchMatMulV2", [(0, 16, 32), (1, 32, 64)], [(0, 16, 64)], _ND, 0),
        ("TransposeBatchMatMul", [(64, 16, 32), (16, 32, 48)], [(64, 16, 48)], _ND, 2 * 16 * 64 * 32 * 48),
        # 3 times 64 x 32 and 32 x 128 in blocks of 16 x 16, the first one for all.
        (
            "BatchMatMulV2",
            [(2, 4, 16, 16), (3, 8, 2, 16, 16)],
            [(3, 8, 4, 16, 16)],
            "FRACTAL_NZ;FRACTAL_NZ->FRACTAL_NZ",
            2 * 3 * 64 * 32 * 128,
        ),
        ("GroupedMatmul", [(96, 32), (4, 32, 64)], [(96, 64)], _ND, 2 * 96 * 32 * 64),
        # The gradient of 16 groups' weights: each sums over its own part of 1,024 rows.
        ("GroupedMatmul", [(64, 1024), (1024, 48)], [(16, 64, 48)], _ND, 2 * 64 * 1024 * 48),
        ("GroupedMatmul", [(1024, 64), (1024, 48)], [(16, 64, 48)], "", 2 * 64 * 1024 * 48),
        # Channels in blocks of 16, filters as C1 Kh Kw, N1, N0, C0.
        (
            "Conv2D",
            [(2, 6, 27, 27, 16), (150, 16, 16, 16)],
            [(2, 16, 27, 27, 16)],
            "NC1HWC0;FracZ",
            2 * 2 * 729 * 256 * 96 * 25,
        ),
        ("Conv2D", [(2, 3, 9, 9), (8, 3, 3, 3)], [(2, 8, 7, 7)], "NCHW;NCHW", 2 * 2 * 49 * 8 * 27),
        ("Conv2DBackpropInput", [(4,), (8, 3, 3, 3), (2, 8, 7, 7)], [(2, 3, 9, 9)], "", 2 * 2 * 49 * 8 * 27),
        (
            "Conv2DBackpropInput",
            [(2, 16, 13, 13, 16), (216, 16, 16, 16)],
            [(2, 24, 13, 13, 16)],
            "",
            2 * 2 * 169 * 216 * 4096,
        ),
        ("Conv2DBackpropFilter", [(2, 3, 9, 9), (4,), (2, 8, 7, 7)], [(8, 3, 3, 3)], "", 2 * 2 * 49 * 8 * 27),
        (
            "FlashAttentionScore",
            [(2, 4, 128, 64)] * 3,
            [(2, 4, 128, 8), (2, 4, 128, 8), (), (2, 4, 128, 64)],
            "",
            4 * 2 * 4 * 128 * 128 * 64,
        ),
        (
            "FlashAttentionScore",
            [(2, 128, 256), (2, 96, 256), (2, 96, 256)],
            [(2, 4, 128, 8)],
            "",
            4 * 2 * 4 * 128 * 96 * 64,
        ),
        (
            "FlashAttentionScore",
            [(128, 2, 256), (96, 2, 256), (96, 2, 256)],
            [(2, 4, 128, 8)],
            "",
            4 * 2 * 4 * 128 * 96 * 64,
        ),
        (
            "FlashAttentionScore",
            [(2, 128, 4, 64), (2, 96, 4, 64), (2, 96, 4, 64)],
            [(2, 4, 128, 8)],
            "",
            4 * 2 * 4 * 128 * 96 * 64,
        ),
        (
            "FlashAttentionScoreGrad",
            [(2, 4, 128, 64)] * 4 + [(2, 4, 128, 8)],
            [(2, 4, 128, 64)] * 3,
            "",
            10 * 2 * 4 * 128 * 128 * 64,
        ),
    ],
)
def test_kernels_that_carry_a_type(kind: str, inputs: Any, outputs: Any, formats: str, flops: int) -> None:
    found = typed_cost(kind, inputs, outputs, _BF16, formats)
    assert found is not None
    assert found.flops == flops


@pytest.mark.parametrize("inputs", [[(2, 288), (10, 288), None], [(2, 288), (288, 10)], [(288, 2), (288, 10)]])
def test_a_product_without_recorded_output(inputs: Any) -> None:
    found = typed_cost("MatMul", inputs, (), (), "")
    assert found is not None
    assert (found.flops, found.bytes) == (2 * 2 * 288 * 10, None)


def test_weights_of_the_operator_replace_filled_channels() -> None:
    # 3 channels filled up to 8: the kernel's weights are 121 * 4 * 16 * 8, the operator's 64 * 3 * 11 * 11.
    found = typed_cost("Conv2D", [(32, 1, 224, 224, 8), (121, 4, 16, 8)], [(32, 8, 55, 55, 8)], _BF16, "", 64 * 3 * 121)
    assert found is not None
    assert found.flops == 2 * 32 * 55 * 55 * 64 * 3 * 121


@pytest.mark.parametrize(
    ("kind", "inputs", "outputs"),
    [
        ("Relu", [(4, 4)], [(4, 4)]),
        ("MatMul", [(4, 4)], [(4, 4)]),
        ("MatMul", [None, (4, 4)], [(4, 4)]),
        ("MatMul", [(4, 8), (8, 4)], []),  # 4 or 8 may be summed over
        ("Conv2D", [(2, 3, 9, 9), (8, 3, 3, 3)], []),
        ("Conv2D", [(4, 4), (4, 4)], [(4, 4)]),
        ("Conv2DBackpropFilter", [(4, 4)], [(4, 4)]),
        ("Conv2DBackpropInput", [(4, 4)], [(4, 4)]),
        ("FlashAttentionScore", [(512, 4, 64)] * 3, [(512, 4, 8)]),  # packed sequences: lengths are not recorded
    ],
)
def test_kernels_whose_shapes_do_not_tell(kind: str, inputs: Any, outputs: Any) -> None:
    assert typed_cost(kind, inputs, outputs, _BF16, "") is None


def test_texts_of_shapes_and_types() -> None:
    assert shapes("[[2, 3], [[1], [2]], [-1]]") == ((2, 3), None, None)
    assert shapes("[[2, 288], NoShape, TupleShape(NoShape, NoShape), []]") == ((2, 288), None, None, ())
    assert shapes("2,3;;x") == ((2, 3), (), None)
    assert shapes("[[2, 3") == () == shapes(None)
    assert lists("[[2, 3], [[1], [2, 4]], [[1], [-1]], []]") == (None, ((1,), (2, 4)), None, None)
    assert lists("2,3;;x") == () == lists(None)
    assert dtypes('["c10::Half", "double", "Scalar", ""]') == ("fp16", "fp64", None, None)
    assert dtypes("NUMBER_TYPE_FLOAT16;DT_BF16;END") == ("fp16", "bf16", None)
    assert dtypes("[1") == () == dtypes("")
    assert arguments('["a", 3]') == ("a", "3")
    assert arguments("[broken") == ()
    assert whole_numbers("3") == (3,)
    assert whole_numbers("same") is None
    assert whole_numbers('["a"]') is None
