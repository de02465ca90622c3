"""The terminal: every line is printed here, so that no text of a capture can steer it."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Final

from rich.console import Console as RichConsole
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment

# Control characters become their pictures (ESC is ␛); line breaks and tabs stay.
_PICTURES: Final = {code: 0x2400 + code for code in range(32) if code not in (9, 10)} | {127: 0x2421}
_PICTURES_AND_MARKS: Final = _PICTURES | dict.fromkeys(range(0x80, 0xA0), 0xFFFD)


def harmless(text: str) -> str:
    """A text whose control characters a terminal does not obey.

    >>> harmless("gemm\\x1b[2J\\x9b31m")
    'gemm␛[2J\ufffd31m'
    """
    return text.translate(_PICTURES_AND_MARKS)


def echo(line: str, err: bool = False) -> None:
    """Print a line as it is, but for what would steer the terminal."""
    print(harmless(line), file=sys.stderr if err else sys.stdout)


class Console(RichConsole):
    """Rich's, with harmless text."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(harmless(segment.text), segment.style)
