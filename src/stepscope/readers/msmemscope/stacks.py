"""Call stacks of a dump: each stored once, outermost first, Python frames around those of C."""

from __future__ import annotations

import polars as pl

_ABSENT = ("", "NA", "N/A")


class StackNumbers:
    """Numbers for pairs of Python and C stacks."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, str], int] = {}

    def numbers(self, python: pl.Series, native: pl.Series) -> pl.Series:
        """The number of each row's stack, null where it has none."""
        pairs = pl.DataFrame({"python": python, "native": native})
        distinct = pairs.unique(maintain_order=True)
        numbers = [self._number(*pair) for pair in distinct.iter_rows()]
        known = distinct.with_columns(stack=pl.Series(numbers, dtype=pl.UInt32))
        return pairs.join(known, on=["python", "native"], how="left", maintain_order="left")["stack"]

    def frame(self) -> pl.DataFrame:
        """Rows of ``stacks``."""
        frames = ["\n".join([*_outermost_first(python), *_outermost_first(native)]) for python, native in self._numbers]
        return pl.DataFrame(
            {"stack": list(self._numbers.values()), "frames": frames}, schema={"stack": pl.UInt32, "frames": pl.String}
        )

    def _number(self, python: str, native: str) -> int | None:
        key = tuple("" if text in _ABSENT else text for text in (python, native))
        if not any(key):
            return None
        return self._numbers.setdefault((key[0], key[1]), len(self._numbers))


def _outermost_first(text: str) -> list[str]:
    return [line.strip() for line in reversed(text.splitlines()) if line.strip()]
