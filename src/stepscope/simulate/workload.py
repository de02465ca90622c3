"""A transformer as pieces of work: kernels with their arithmetic and traffic, collectives with their sizes.

All per micro-batch and per rank: tensor parallelism divides matrices, context parallelism divides sequences.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from stepscope.simulate.instructions import Grows
from stepscope.simulate.scenario import Plan, Workload

_ELEMENT_BYTES: Final = {"fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2}
_GRADIENT_BYTES: Final = 4
#: Weights, gradient and two moments in single precision, read and written.
_ADAM_BYTES: Final = 32


@dataclass(frozen=True)
class Piece:
    """A kernel, or, with ``kind``, a collective of ``size`` bytes in a dimension of the plan."""

    operator: str
    module: str = ""
    flops: float = 0.0
    moved_bytes: float = 0.0
    shapes: str = ""
    grows: Grows = "none"
    kind: str = ""
    dimension: str = ""
    size: int = 0
    ns: float | None = None  # measured, instead of arithmetic and traffic
    host_ns: float | None = None
    keeps_bytes: int = 0


@dataclass(frozen=True)
class Transformer:
    """The pieces of a model under a plan."""

    workload: Workload
    plan: Plan

    @property
    def tokens(self) -> int:
        return self.workload.batch * self.workload.sequence // self.plan.cp

    @property
    def element(self) -> int:
        return _ELEMENT_BYTES[self.workload.dtype]

    @property
    def activation_bytes(self) -> int:
        """What one layer hands to the next."""
        return self.tokens * self.workload.hidden * self.element

    def forward(self, layer: int) -> list[Piece]:
        """The forward pass of a layer."""
        hidden, tp = self.workload.hidden, self.plan.tp
        name = f"layers.{layer}"
        reduce = self._collective("all_reduce", "tp", self.activation_bytes, f"{name}.reduce")
        gather = self._collective(
            "all_gather", "cp", 2 * self.activation_bytes * self.plan.cp // tp, f"{name}.attention"
        )
        return [
            self._streaming("layer_norm", f"{name}.norm1"),
            self._matrix("matmul", f"{name}.attention.qkv", hidden, 3 * hidden // tp),
            *gather,
            self._attention("attention", f"{name}.attention.core"),
            self._matrix("matmul", f"{name}.attention.out", hidden // tp, hidden),
            *reduce,
            self._streaming("add", f"{name}.residual1"),
            self._streaming("layer_norm", f"{name}.norm2"),
            *(self._experts(name) if self.workload.experts else self._feed_forward(name)),
            *reduce,
            self._streaming("add", f"{name}.residual2"),
        ]

    def backward(self, layer: int) -> list[Piece]:
        """The backward pass: in reverse, matrix products twice (for inputs and for weights)."""
        pieces: list[Piece] = []
        for piece in reversed(self.forward(layer)):
            if piece.operator in ("matmul", "expert"):
                pieces += [piece, piece]
            elif piece.operator == "attention":
                pieces.append(replace(piece, operator="attention_backward", flops=2.5 * piece.flops))
            elif piece.kind == "all_gather":  # what was gathered is used by all: their gradients for it are summed up
                pieces.append(replace(piece, kind="reduce_scatter"))
            elif piece.kind:
                pieces.append(piece)
            else:
                pieces.append(replace(piece, moved_bytes=1.5 * piece.moved_bytes))
        return [replace(piece, keeps_bytes=0) for piece in pieces]

    def embedding(self) -> list[Piece]:
        return [self._streaming("embedding", "embedding")]

    def head(self) -> list[Piece]:
        """The last layer: logits and loss."""
        words = self.workload.vocabulary // self.plan.tp
        logits = self.tokens * words * self.element
        loss = Piece("loss", "loss", moved_bytes=3 * logits, shapes=f"[[{self.tokens}, {words}]]", grows="tokens")
        return [self._matrix("matmul", "head", self.workload.hidden, words), loss]

    def head_backward(self) -> list[Piece]:
        matrix, loss = self.head()
        return [loss, matrix, matrix]

    def layer_parameters(self) -> int:
        """Weights of a layer on one rank."""
        hidden, tp = self.workload.hidden, self.plan.tp
        attention = 4 * hidden * hidden // tp
        feed_forward = 8 * hidden * hidden // tp
        return attention + feed_forward * (self.workload.experts // self.plan.ep if self.workload.experts else 1)

    def outer_parameters(self) -> int:
        """Weights of the embedding, or of the head."""
        return self.workload.hidden * self.workload.vocabulary // self.plan.tp

    def updated(self, parameters: int) -> int:
        """Weights that a rank updates, and has optimizer state of: with its share of the gradients only those."""
        sharded = self.workload.gradients == "reduce_scatter"
        return parameters // (self.plan.dp * self.plan.cp) if sharded else parameters

    def optimizer(self, parameters: int, kernels: int) -> list[Piece]:
        """The update of all weights in some fused kernels."""
        share = max(parameters // kernels, 1)
        return [
            Piece("adam", "optimizer", moved_bytes=float(share * _ADAM_BYTES), shapes=f"[[{share}]]")
            for _ in range(kernels)
        ]

    def clip(self, parameters: int) -> Piece:
        return Piece("clip", "optimizer", moved_bytes=float(parameters * _GRADIENT_BYTES), shapes=f"[[{parameters}]]")

    @staticmethod
    def gradient_bytes(parameters: int) -> int:
        return parameters * _GRADIENT_BYTES

    def _feed_forward(self, name: str) -> list[Piece]:
        hidden, inner = self.workload.hidden, 4 * self.workload.hidden // self.plan.tp
        return [
            self._matrix("matmul", f"{name}.mlp.up", hidden, inner),
            self._streaming("gelu", f"{name}.mlp.gelu", 4.0 / self.plan.tp),
            self._matrix("matmul", f"{name}.mlp.down", inner, hidden),
        ]

    def _experts(self, name: str) -> list[Piece]:
        exchange = self._collective("all_to_all", "ep", self.activation_bytes, f"{name}.experts")
        hidden, inner = self.workload.hidden, 4 * self.workload.hidden // self.plan.tp
        up = replace(self._matrix("expert", f"{name}.experts.up", hidden, inner), grows="experts")
        down = replace(self._matrix("expert", f"{name}.experts.down", inner, hidden), grows="experts")
        router = self._streaming("small", f"{name}.experts.router")
        return [
            router,
            *exchange,
            up,
            self._streaming("gelu", f"{name}.experts.gelu", 4.0 / self.plan.tp),
            down,
            *exchange,
        ]

    def _matrix(self, operator: str, module: str, inputs: int, outputs: int) -> Piece:
        tokens = self.tokens
        moved = (tokens * (inputs + outputs) + inputs * outputs) * self.element
        shapes = f"[[{tokens}, {inputs}], [{inputs}, {outputs}]]"
        kept = tokens * inputs * self.element
        return Piece(operator, module, 2.0 * tokens * inputs * outputs, moved, shapes, "tokens", keeps_bytes=kept)

    def _attention(self, operator: str, module: str) -> Piece:
        workload = self.workload
        length, width = workload.sequence, workload.hidden // self.plan.tp
        # Causal attention needs half of the scores.
        flops = 2.0 * workload.batch * length * (length // self.plan.cp) * width
        moved = 4 * self.tokens * width * self.element
        heads = max(width // 128, 1)
        shapes = str([[workload.batch, heads, length // self.plan.cp, 128]] * 3)
        kept = self.tokens * width * self.element
        return Piece(operator, module, flops, moved, shapes, "attention", keeps_bytes=kept)

    def _streaming(self, operator: str, module: str, times: float = 1.0) -> Piece:
        moved = 3 * times * self.activation_bytes
        shapes = f"[[{self.tokens}, {round(times * self.workload.hidden)}]]"
        return Piece(operator, module, 0.0, moved, shapes, "tokens", keeps_bytes=int(times * self.activation_bytes))

    def _collective(self, kind: str, dimension: str, size: int, module: str) -> list[Piece]:
        if getattr(self.plan, dimension) == 1:
            return []
        return [Piece("", module, kind=kind, dimension=dimension, size=size)]
