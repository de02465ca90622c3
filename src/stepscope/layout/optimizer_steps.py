"""Which optimizer's steps are the training's, where nobody calls step(): for the profiler and for its reader."""

from __future__ import annotations

from collections.abc import Iterable

#: More than one side of an adversarial training usually makes while the other waits (a critic: 5).
_SILENT_STEPS = 6


class LeadingOptimizer:
    """The first optimizer leads, until it is silent while another makes six steps: the training went on with that one.

    >>> lead = LeadingOptimizer()
    >>> [lead.is_step(number) for number in (0, 1, 0, 1)]
    [True, False, True, False]
    >>> [lead.is_step(1) for _ in range(6)]
    [False, False, False, False, True, True]
    >>> lead.steps  # two of the first, and seven of the other, five of which are known afterwards
    9
    """

    def __init__(self) -> None:
        self.steps = 0
        self._leader: int | None = None
        self._since: dict[int, int] = {}

    def is_step(self, optimizer: int) -> bool:
        """Whether this optimizer's step ends a step of the training."""
        if self._leader is None:
            self._leader = optimizer
        if optimizer != self._leader:
            self._since[optimizer] = self._since.get(optimizer, 0) + 1
            if self._since[optimizer] < _SILENT_STEPS:
                return False
            self._leader = optimizer
            self.steps += _SILENT_STEPS - 1
        self.steps += 1
        self._since.clear()
        return True


def steps_of_the_training(optimizers: Iterable[int]) -> list[bool]:
    """The same for all steps at once, where it is known afterwards that a silent leader stays silent.

    >>> steps_of_the_training([0, 1, 0, 1] + [1] * 6)
    [True, False, True, True, True, True, True, True, True, True]
    """
    lead, counted = LeadingOptimizer(), []
    waiting: dict[int, list[int]] = {}
    for index, optimizer in enumerate(optimizers):
        counted.append(lead.is_step(optimizer))
        if counted[index]:
            for earlier in waiting.get(optimizer, ()):
                counted[earlier] = True
            waiting.clear()
        else:
            waiting.setdefault(optimizer, []).append(index)
    return counted
