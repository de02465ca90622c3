"""Faults on the device: precision, layouts, small kernels, work on the wrong processor, memory."""

from __future__ import annotations

from typing import Any

import torch

from planted.model import FEATURES, SIZES, Size, Stack, Training


class SinglePrecision(Training):
    """Matrix products in 32 bits on cores that multiply single numbers; the switch allows tensor cores (TF32)."""

    def __init__(self, device: str, faulty: bool) -> None:
        super().__init__(device, Size(batch=16384, width=2048, layers=4), torch.float32)
        torch.backends.cuda.matmul.allow_tf32 = not faulty


class Transposes(Training):
    """Each layer gets its rows transposed and copied, there and back."""

    def __init__(self, device: str, faulty: bool) -> None:
        super().__init__(device)
        if faulty:
            self.model.after_layer = lambda rows: rows.t().contiguous().t().contiguous()


class Convolutions(torch.nn.Module):  # type: ignore[misc]
    """Images through convolutions of one width."""

    def __init__(self, channels: int, layers: int) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(
            torch.nn.Conv2d(channels, channels, 3, padding=1, bias=False) for _ in range(layers)
        )

    def forward(self, images: Any) -> Any:
        for layer in self.layers:
            images = torch.relu(layer(images))
        return images


class ChannelsFirst(Training):
    """Images with channels first, which the fast convolutions have to convert; the switch puts channels last."""

    channels, images, edge = 128, 512, 56

    def __init__(self, device: str, faulty: bool) -> None:
        super().__init__(device)
        layout = torch.contiguous_format if faulty else torch.channels_last
        self.model = self.model.to(memory_format=layout)
        shape = (self.images, self.channels, self.edge, self.edge)
        self.ready_batch = torch.randn(shape, device=device, dtype=self.dtype).to(memory_format=layout)

    def new_model(self) -> Any:
        return Convolutions(self.channels, layers=4)


class WorkOnTheCpu(Training):
    """In the middle of the model something is sorted on the host's processor instead of the device."""

    columns = 256

    def __init__(self, device: str, faulty: bool) -> None:
        super().__init__(device)
        self.faulty = faulty
        self._layer = 0
        self.model.after_layer = self._halfway

    def _halfway(self, rows: Any) -> Any:
        self._layer += 1
        if self._layer % self.size.layers != self.size.layers // 2:
            return rows
        part = rows[:, : self.columns]
        if self.faulty:
            order = part.detach().cpu().float().sort(dim=0).values.to(self.device, self.dtype)
        else:
            order = part.detach().float().sort(dim=0).values.to(self.dtype)
        return rows + order.mean(0).mean()


def gelu_by_hand(rows: Any) -> Any:
    """GELU as its formula is written: one kernel for each operation, each reading and writing all rows."""
    cubed = rows * rows * rows
    inner = (rows + cubed * 0.044715) * 0.7978845608
    return rows * 0.5 * (torch.tanh(inner) + 1.0)


def gelu_in_one(rows: Any) -> Any:
    return torch.nn.functional.gelu(rows, approximate="tanh")


class Unfused(Training):
    """An activation written out operation by operation; the switch takes the one that PyTorch has."""

    def __init__(self, device: str, faulty: bool) -> None:
        self.faulty = faulty
        super().__init__(device)

    def new_model(self) -> Any:
        return Stack(self.size, gelu_by_hand if self.faulty else gelu_in_one)


class Attention(torch.nn.Module):  # type: ignore[misc]
    """Layers of causal attention over sequences that the rows of a batch are cut into."""

    length, heads = 1024, 16

    def __init__(self, size: Size, in_pieces: bool) -> None:
        super().__init__()
        self.first = torch.nn.Linear(FEATURES, size.width)
        self.queries_keys_values = torch.nn.ModuleList(
            torch.nn.Linear(size.width, 3 * size.width) for _ in range(size.layers)
        )
        self.last = torch.nn.Linear(size.width, FEATURES)
        self.attend = attention_in_pieces if in_pieces else attention_in_one

    def forward(self, rows: Any) -> Any:
        rows = self.first(rows).unflatten(0, (-1, self.length))
        for layer in self.queries_keys_values:
            parts = layer(rows).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
            rows = rows + self.attend(*parts).transpose(1, 2).flatten(2)
        return self.last(rows).flatten(0, 1)


def attention_in_pieces(queries: Any, keys: Any, values: Any) -> Any:
    """As its formula is written: the matrix of scores is written and read by each operation."""
    length, width = queries.shape[-2:]
    scores = queries @ keys.transpose(-1, -2) / width**0.5
    later = torch.ones(length, length, device=queries.device, dtype=torch.bool).triu(1)
    return scores.masked_fill(later, float("-inf")).softmax(-1) @ values


def attention_in_one(queries: Any, keys: Any, values: Any) -> Any:
    return torch.nn.functional.scaled_dot_product_attention(queries, keys, values, is_causal=True)


class AttentionInPieces(Training):
    """Attention written out; the switch takes the fused kernel that PyTorch has."""

    def __init__(self, device: str, faulty: bool) -> None:
        self.faulty = faulty
        super().__init__(device, Size(batch=16384, width=1024, layers=6))

    def new_model(self) -> Any:
        return Attention(self.size, self.faulty)


class SlowOptimizer(Training):
    """Adam parameter by parameter, over hundreds of small parameters; the switch takes the fused one."""

    scales = 150

    def __init__(self, device: str, faulty: bool) -> None:
        self.faulty = faulty
        super().__init__(device)

    def new_optimizer(self) -> Any:
        options = {"device": self.device, "dtype": self.dtype, "requires_grad": True}
        self._scales = [torch.ones(64, **options) for _ in range(self.scales)]
        kind = {"foreach": False, "fused": False} if self.faulty else {"fused": True}
        return torch.optim.Adam([*self.model.parameters(), *self._scales], lr=1e-5, **kind)

    def loss(self, outputs: Any, inputs: Any) -> Any:
        return super().loss(outputs * torch.stack(self._scales).mean(), inputs)


class MemoryLeak(Training):
    """Keeps what a layer gave, in every step."""

    def __init__(self, device: str, faulty: bool) -> None:
        size = SIZES[device]
        super().__init__(device, Size(batch=size.batch, width=size.width, layers=2))
        self.faulty = faulty
        self._kept: list[Any] = []
        self.model.after_layer = self._keep

    def _keep(self, rows: Any) -> Any:
        if self.faulty:
            self._kept.append(rows.detach().clone())
        return rows


class EmptyCache(Training):
    """Gives all unused memory back to the driver in every step, and asks for it again in the next."""

    def __init__(self, device: str, faulty: bool) -> None:
        super().__init__(device)
        self.faulty = faulty

    def train(self, number: int) -> None:
        super().train(number)
        if self.faulty:
            torch.cuda.empty_cache()
