"""Numbers for values that repeat."""

from __future__ import annotations

from typing import Any


class Codes(dict[Any, int]):
    """Numbers for values, in order of first sight.

    >>> codes = Codes(); [codes[name] for name in "aba"]
    [0, 1, 0]
    """

    def __missing__(self, value: Any) -> int:
        self[value] = code = len(self)
        return code

    def texts(self) -> list[str | None]:
        return [value if value is None or type(value) is str else str(value) for value in self]
