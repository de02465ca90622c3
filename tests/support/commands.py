"""The command line, called within the test's own process."""

from __future__ import annotations

from typing import NamedTuple, Protocol

#: English, on a wide terminal.
ENGLISH = {"LANG": "en_US.UTF-8", "LC_ALL": "", "LC_MESSAGES": "", "STEPSCOPE_LANG": "", "COLUMNS": "200"}


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


class Command(Protocol):
    def __call__(self, *arguments: object) -> Outcome: ...
