"""Warnings to the owner of the training job: one clear sentence each, once, in the user's language.

The sentences lie in ``messages.json`` and not in the catalogue of the analysis side, because the profiler is shipped
alone to machines whose Python has no TOML reader.
"""

from __future__ import annotations

import json
import os
import pkgutil
import re
import sys
import time
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any

from stepscope.profiler.foundation.own_faults import ours, suppressed

#: A value, the word for one and the word for several, as in the catalogue of the analysis side.
_WORD = re.compile(r"\{(\w+)\|([^|{}]*)\|([^|{}]*)\}")
_VARIABLES = ("STEPSCOPE_LANG", "LC_ALL", "LC_MESSAGES", "LANG")


class StepscopeWarning(UserWarning):
    """What went wrong with profiling; training goes on."""


class _State:
    """What was said already, and who else listens (the log of the open window)."""

    def __init__(self) -> None:
        self.messages: dict[str, dict[str, str]] = {}
        self.said: set[str] = set()
        self.listener: Callable[[str], None] | None = None


_state = _State()


def warn(key: str, /, once_for: str | None = None, **params: Any) -> None:
    """Say a sentence once (``once_for``: once for all that bears this name); never raises, not even warnings."""
    try:
        text = sentence(key, **params)
        if _state.listener is not None:
            _state.listener(text)
        if (once_for or text) in _state.said:
            return
        _state.said.add(once_for or text)
        level = _outside()
        if level is None:
            print(f"[stepscope] {text}", file=sys.stderr, flush=True)
            return
        try:
            warnings.warn(text, StepscopeWarning, stacklevel=level)
        except StepscopeWarning:
            print(f"[stepscope] {text}", file=sys.stderr)
    except ours(Exception):  # nothing to say it with
        return


def tell(key: str, /, **params: Any) -> None:
    """A line of progress, for people only: to standard error, and to the log."""
    try:
        text = sentence(key, **params)
        if _state.listener is not None:
            _state.listener(text)
        print(f"[stepscope] {text}", file=sys.stderr, flush=True)
    except ours(Exception):
        return


def sentence(key: str, /, lang: str | None = None, **params: Any) -> str:
    """The text of a key, with its values put in."""
    read_sentences()
    texts = _state.messages.get(key)
    if texts is None:  # the catalogue could not be read
        return f"{key} {params}"
    chosen = _WORD.sub(lambda word: word[2 if str(params.get(word[1])) == "1" else 3], texts[lang or _language()])
    return chosen.format(**params)


def read_sentences() -> None:
    """Read the catalogue now, while files can be opened: later there may be no handle left to say so with."""
    if not _state.messages:
        with suppressed(OSError, ValueError):
            _state.messages = json.loads(pkgutil.get_data(__package__ or "", "messages.json") or b"{}")


def listen(listener: Callable[[str], None] | None) -> None:
    """Hand every sentence also to a window's log; None ends it."""
    _state.listener = listener


def forget() -> None:
    """What was said may be said again: for a new job in the same process, and for tests."""
    _state.said.clear()


def stamped(text: str) -> str:
    """A line of a log.

    >>> stamped("hello")[4], stamped("hello")[-6:]
    ('-', ' hello')
    """
    return f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}"


def _language() -> str:
    value = next((os.environ[name] for name in _VARIABLES if os.environ.get(name)), "")
    return "zh" if value.lower().startswith("zh") else "en"


def _outside() -> int | None:
    """How many frames up the caller's own code lies, so that the warning points there; None where there is only ours,
    as when the interpreter ends."""
    level = 2
    frame: FrameType | None = sys._getframe(level)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("stepscope.profiler"):
        frame = frame.f_back
        level += 1
    return None if frame is None else level
