"""The errors a user can meet; each knows its exit code and takes its sentence from the text catalogue."""

from __future__ import annotations

from typing import Any


class StepscopeError(Exception):
    """A user's mistake or a broken input. ``code`` names an entry of the catalogue's ``error`` section."""

    exit_code = 2

    def __init__(self, code: str, **params: Any) -> None:
        super().__init__(code, params)
        self.code = code
        self.params = params

    def message(self, lang: str = "en") -> str:
        from stepscope.texts import text

        # What is itself a sentence comes in each language: reason, reason_zh.
        params = {name: self.params.get(f"{name}_{lang}", value) for name, value in self.params.items()}
        return text(f"error.{self.code}", lang, **params)

    def as_reason(self) -> dict[str, Any]:
        """For a note that tells why something is missing, in each language."""
        from stepscope.texts import LANGUAGES

        other = {f"reason_{lang}": self.message(lang) for lang in LANGUAGES if lang != "en"}
        return {"reason": self.message("en"), **other}

    def __str__(self) -> str:
        return self.message()

    def __reduce__(self) -> tuple[Any, ...]:
        # Errors travel back from worker processes.
        return _rebuild, (type(self), self.code, self.params)


class NoAnswerError(StepscopeError):
    """The question has no answer in this data."""

    exit_code = 1


class UsageError(StepscopeError):
    """The command was called wrongly."""

    exit_code = 2


class UnreadableInputError(StepscopeError):
    """The input cannot be read."""

    exit_code = 3


def is_panic(error: BaseException) -> bool:
    """Whether a Rust library panicked. Panics are not an ``Exception``, so they pass ordinary handlers."""
    return type(error).__name__ == "PanicException"


def internal(error: BaseException) -> StepscopeError:
    """An error in Stepscope itself."""
    return StepscopeError("internal", reason=f"{type(error).__name__}: {error}")


def _rebuild(kind: type[StepscopeError], code: str, params: dict[str, Any]) -> StepscopeError:
    return kind(code, **params)
