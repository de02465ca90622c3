"""The questions by name. A name is known from ``texts``; its module is imported when the question is looked at.

The question ``critical-path`` is declared in the module or package ``critical_path`` of one of the rooms.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from stepscope.errors import UsageError
from stepscope.texts import entries

if TYPE_CHECKING:
    from stepscope.analysis.foundation.question import Question

_ROOMS: Final = ("analysis", "diagnosis")


class Questions(Mapping[str, "Question"]):
    """Names are cheap; a question costs the import of its module."""

    def __iter__(self) -> Iterator[str]:
        return iter(entries("question"))

    def __len__(self) -> int:
        return len(entries("question"))

    def __contains__(self, name: object) -> bool:
        return name in entries("question")

    def __getitem__(self, name: str) -> Question:
        if name not in self:
            raise KeyError(name)
        from stepscope.analysis.foundation.question import DECLARED

        if name not in DECLARED:
            importlib.import_module(_module(name))
        return DECLARED[name]

    def named(self, name: str) -> Question:
        """A question that a user named; an error that lists them where there is no such one."""
        if name not in self:
            raise UsageError("no_such_question", question=name, questions=", ".join(self))
        return self[name]


def _module(name: str) -> str:
    candidates = [f"stepscope.{room}.{name.replace('-', '_')}" for room in _ROOMS]
    return next(module for module in candidates if importlib.util.find_spec(module) is not None)


QUESTIONS: Final = Questions()
