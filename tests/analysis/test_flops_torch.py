"""FLOPs of small models that really run, against PyTorch's own counter and by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.analysis.flops import Flops, flops
from stepscope.analysis.flops.formulas import cost, formulas
from stepscope.facts.flops import flops_facts

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.torch,
    # Raised inside PyTorch by its own use of its interfaces.
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning", "ignore::DeprecationWarning"),
]


def _measured(directory: Path, work: Callable[[], Any]) -> tuple[int, dict[str, int], Flops]:
    """PyTorch's count, its parts by operator, and ours from the profiler's file."""
    from torch.profiler import ProfilerActivity, profile
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        work()
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
        work()
    file = directory / "trace.json"
    profiler.export_chrome_trace(str(file))
    parts = {str(name): count for name, count in counter.get_flop_counts().get("Global", {}).items()}
    return counter.get_total_flops(), parts, flops(stepscope.load(file, progress=False).store).data


def _total(found: Flops) -> int:
    return sum(row.flops for row in found.operators)


def _mlp() -> Any:
    nn = torch.nn
    return nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 32))


def _trained(model: Any, *sizes: int) -> Callable[[], Any]:
    data = torch.randn(*sizes, requires_grad=True)
    return lambda: model(data).sum().backward()


def test_a_perceptron(tmp_path: Path) -> None:
    theirs, _, ours = _measured(tmp_path, _trained(_mlp(), 16, 8, 64))
    assert _total(ours) == theirs == 3 * 2 * 128 * (64 * 128 + 128 * 32)
    assert {row.name for row in ours.operators} == {"aten::addmm", "aten::mm"}
    assert ours.ranks[0].flops == ours.ranks[0].model_flops


def test_convolutions_with_stride_padding_and_dilation(tmp_path: Path) -> None:
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(8, 16, 5, padding=2, dilation=2),
        nn.ConvTranspose2d(16, 4, 4, stride=2, padding=1),
    )
    theirs, _, ours = _measured(tmp_path, _trained(model, 2, 3, 33, 29))
    assert _total(ours) == theirs


@pytest.mark.parametrize(("kind", "sizes"), [("Conv1d", (3, 4, 50)), ("Conv3d", (1, 4, 5, 6, 7))])
def test_convolutions_of_other_dimensions(tmp_path: Path, kind: str, sizes: tuple[int, ...]) -> None:
    model = getattr(torch.nn, kind)(4, 6, 3, padding=1)
    theirs, _, ours = _measured(tmp_path, _trained(model, *sizes))
    assert _total(ours) == theirs


def test_grouped_convolutions_by_hand(tmp_path: Path) -> None:
    """PyTorch's counter takes every channel for the gradient of grouped weights; forward we agree."""
    model = torch.nn.Conv2d(8, 16, 3, padding=1, groups=4)
    theirs, parts, ours = _measured(tmp_path, _trained(model, 2, 8, 10, 12))
    once = 2 * 2 * 10 * 12 * 16 * (8 // 4) * 9
    assert parts["aten.convolution"] == once
    found = {row.name: row.flops for row in ours.operators}
    assert found == {"aten::_convolution": once, "aten::convolution_backward": 2 * once}
    assert theirs > _total(ours)


def test_products_of_all_kinds(tmp_path: Path) -> None:
    """PyTorch's counter knows no products with vectors; those are added by hand."""
    left, right, added = torch.randn(5, 3, 4), torch.randn(5, 4, 6), torch.randn(5, 3, 6)
    vector, wide = torch.randn(4), torch.randn(2, 5, 3, 4)

    def work() -> None:
        torch.bmm(left, right)
        torch.baddbmm(added, left, right)
        torch.matmul(wide, right)
        torch.einsum("bij,bjk->bik", left, right)
        torch.addmm(added[0], left[0], right[0])
        torch.matmul(wide, vector)
        torch.mv(left[0], vector)
        torch.dot(vector, vector)

    theirs, _, ours = _measured(tmp_path, work)
    assert _total(ours) == theirs + 2 * (2 * 5 * 3 * 4) + 2 * 3 * 4 + 2 * 4


def test_attention_as_plain_products(tmp_path: Path) -> None:
    from torch.nn.attention import SDPBackend, sdpa_kernel

    query, key, value = (torch.randn(2, 4, 16, 8, requires_grad=True) for _ in range(3))

    def work() -> None:
        with sdpa_kernel(SDPBackend.MATH):
            torch.nn.functional.scaled_dot_product_attention(query, key, value).sum().backward()

    theirs, _, ours = _measured(tmp_path, work)
    assert _total(ours) == theirs == 12 * 2 * 4 * 16 * 16 * 8


@pytest.mark.parametrize("causal", [False, True])
def test_fused_attention_by_hand(tmp_path: Path, causal: bool) -> None:
    """PyTorch's counter does not know the fused attention of processors; its formula for devices is ours, whole."""
    from torch.utils.flop_counter import sdpa_flop_count

    tensors = [torch.randn(2, 4, 16, 8, requires_grad=True) for _ in range(3)]
    attention = torch.nn.functional.scaled_dot_product_attention
    _, _, ours = _measured(tmp_path, lambda: attention(*tensors, is_causal=causal).sum().backward())
    forward = sdpa_flop_count(*(tensor.shape for tensor in tensors)) // (2 if causal else 1)
    found = {
        row.name.removeprefix("aten::_scaled_dot_product_flash_attention_for_cpu"): row.flops for row in ours.operators
    }
    assert found == {"": forward, "_backward": forward * 5 // 2}
    assert _total(ours) - ours.ranks[0].model_flops == forward // 2  # scores are computed again


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoints_do_not_add_to_the_models_flops(tmp_path: Path, reentrant: bool) -> None:
    from torch.utils.checkpoint import checkpoint

    model, data = _mlp(), torch.randn(16, 8, 64, requires_grad=True)
    theirs, _, ours = _measured(tmp_path, lambda: checkpoint(model, data, use_reentrant=reentrant).sum().backward())
    plain = 3 * 2 * 128 * (64 * 128 + 128 * 32)
    # Without reentrance the repetition stops in the last product before it computes, yet the profiler shows it.
    last = 0 if reentrant else 2 * 128 * 128 * 32
    assert _total(ours) == theirs + last == plain * 4 // 3
    assert ours.ranks[0].model_flops == plain


def test_a_checkpoint_of_equal_products_without_reentrance(tmp_path: Path) -> None:
    """Both are begun once more, inside the backward node of the second, beside products of the same shape."""
    from torch.utils.checkpoint import checkpoint

    data, weight = (torch.randn(17, 17, requires_grad=True) for _ in range(2))

    def work() -> None:
        checkpoint(lambda x, w: torch.mm(torch.mm(x, w).relu(), w), data, weight, use_reentrant=False).sum().backward()

    theirs, _, ours = _measured(tmp_path, work)
    once = 2 * 17**3
    assert (_total(ours), theirs) == (8 * once, 7 * once)  # the second stops before it computes
    assert ours.ranks[0].model_flops == 6 * once


def test_a_backward_pass_that_is_differentiated_is_no_repetition(tmp_path: Path) -> None:
    """Its products are recorded for differentiation too, here with the shapes of the forward pass."""
    data, weight = (torch.randn(17, 17, requires_grad=True) for _ in range(2))

    def work() -> None:
        (gradient,) = torch.autograd.grad((data @ weight).relu().sum(), data, create_graph=True)
        (gradient**2).sum().backward()

    theirs, _, ours = _measured(tmp_path, work)
    assert ours.ranks[0].flops == ours.ranks[0].model_flops == theirs


def test_recurrent_layers_by_hand(tmp_path: Path) -> None:
    """PyTorch's counter does not know them: two layers in two directions, 5 moments of 4 sequences, a linear head."""
    nn = torch.nn
    layers, head = nn.LSTM(8, 16, num_layers=2, bidirectional=True, batch_first=True), nn.Linear(32, 10)
    data = torch.randn(4, 5, 8, requires_grad=True)
    _, _, ours = _measured(tmp_path, lambda: head(layers(data)[0]).sum().backward())
    recurrent = 2 * 20 * 2 * 64 * ((8 + 16) + (32 + 16))
    assert _total(ours) == 3 * (recurrent + 2 * 20 * 32 * 10)


def test_places_of_recurrent_layers_are_those_of_pytorchs_schemas() -> None:
    words = {"weights": {"weight", "params"}, "mask": {"output_mask"}}
    for name, entry in flops_facts().recurrent.items():
        packet = getattr(torch.ops.aten, name.removeprefix("aten::"))
        schemas = [getattr(packet, overload)._schema.arguments for overload in packet.overloads() if overload != "out"]
        stated = {"weights": entry.weights} | ({} if entry.mask is None else {"mask": (entry.mask,)})
        for word, listed in stated.items():
            assert all(any(schema[place].name in words[word] for place in listed) for schema in schemas), name


def test_a_transformer_layer(tmp_path: Path) -> None:
    layer = torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, dropout=0.0)
    data = torch.randn(2, 10, 32, requires_grad=True)

    def work() -> None:
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            layer(data).sum().backward()

    theirs, _, ours = _measured(tmp_path, work)
    assert _total(ours) == theirs


_CAUSAL = {"is_causal", "custom_mask_type"}


def test_places_of_arguments_are_those_of_pytorchs_schemas() -> None:
    for name, entries in formulas().items():
        library, _, plain = name.partition("::")
        if library != "aten" or any(entry.causal is not None for entry in entries) is False:
            continue
        names = [argument.name for argument in getattr(torch.ops.aten, plain).default._schema.arguments]
        for entry in entries:
            assert entry.causal is not None
            assert names[entry.causal] in _CAUSAL, name
            tensors = ["query", "key", "value"] if len(entry.inputs) == 3 else ["grad_out", "query", "key", "value"]
            assert [word.rstrip("_") for word in names[: len(tensors)]] == tensors, name


@pytest.mark.parametrize("name", flops_facts().convolutions)
def test_places_of_convolutions_are_those_of_pytorchs_schemas(name: str) -> None:
    schema = getattr(torch.ops.aten, name.removeprefix("aten::")).default._schema
    names = [argument.name for argument in schema.arguments]
    words = {"gradient": "grad_output", "mask": "output_mask"}
    for word, place in flops_facts().convolutions[name].items():
        assert names[place] == words.get(word, word)


def test_attention_of_devices_as_pytorchs_counter_has_it() -> None:
    from torch.utils.flop_counter import sdpa_backward_flop_count, sdpa_flop_count

    query, key, value = (2, 4, 96, 64), (2, 4, 128, 64), (2, 4, 128, 32)
    gradient = (2, 4, 96, 32)
    for name in ("flash_attention", "efficient_attention", "cudnn_attention"):
        forward = cost(f"aten::_scaled_dot_product_{name}", [query, key, value], ["bf16"] * 3, ())
        backward = cost(f"aten::_scaled_dot_product_{name}_backward", [gradient, query, key, value], ["bf16"] * 4, ())
        assert forward is not None
        assert backward is not None
        assert forward.flops == sdpa_flop_count(query, key, value)
        assert backward.flops == sdpa_backward_flop_count(gradient, query, key, value)
