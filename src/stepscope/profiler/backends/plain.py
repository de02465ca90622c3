"""Any Python loop: no operators, but steps, marks and samples, which the window writes itself."""

from __future__ import annotations

from collections.abc import Iterable

from stepscope.profiler.backends import Backend
from stepscope.profiler.backends.switches import not_served
from stepscope.profiler.settings.profile_settings import Settings


class PlainBackend(Backend):
    """Records nothing of its own."""

    name = "plain"

    def unsupported(self) -> Iterable[str]:
        return not_served(self.settings, ("with_stack", "record_shapes", "profile_memory", "data_process"))


def make(settings: Settings) -> PlainBackend:
    """The backend of a window."""
    return PlainBackend(settings)
