"""One thing that was looked at, and what can be recorded: the two lists of an examination."""

from __future__ import annotations

from typing import Literal

import msgspec

from stepscope.texts import text

State = Literal["ok", "warning", "problem", "absent"]


class Sentence(msgspec.Struct, frozen=True):
    """A sentence in both languages."""

    en: str
    zh: str

    @classmethod
    def of(cls, key: str, **values: object) -> Sentence:
        """The sentence of a key, with its values put in."""
        return cls(text(key, "en", **values), text(key, "zh", **values))


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """``value`` is a version, a size or a name; ``remedy`` says what to do where something is wrong."""

    section: Literal["versions", "accelerators", "resources"]
    name: str
    state: State
    value: str | None = None
    remedy: Sentence | None = None


class Recordable(msgspec.Struct, frozen=True, kw_only=True):
    """A way to record, whether it works here, and what it would need."""

    name: str
    possible: bool
    needs: Sentence | None = None


class Examination(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was looked at."""

    checks: list[Check]
    recordable: list[Recordable]
