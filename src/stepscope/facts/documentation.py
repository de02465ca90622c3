"""``docs/thresholds.md``, made from the tables and their comments: ``python -m stepscope.facts.documentation``."""

from __future__ import annotations

import re
from importlib import resources
from typing import Final, NamedTuple

from stepscope.facts.thresholds import TABLES, shipped

_ORIGIN: Final = re.compile(r"Origin(?: of [^:]*)?:\s*(.*)")
_HEAD: Final = """# Thresholds

Every limit from which Stepscope concludes something has a name, one home (`src/stepscope/facts/*.toml`) and an
origin. `--thresholds FILE` replaces any of them for one call, for findings and for all other answers; `stepscope
view` takes it, too. Names that do not exist are refused, with those near them.

```toml
# mine.toml
[findings.strength]
mild_share = 0.06          # tell nothing that costs less than 6 % of a step

[launches.gaps]
least_us = 50.0
```

```
stepscope diagnose PATH --thresholds mine.toml
```

Findings that were worked out with other limits are not mixed up: a stored diagnosis belongs to the limits that it
was made with. In Python, set the environment variable `STEPSCOPE_THRESHOLDS` to the file before loading a run.
This page is made from the tables by `make docs`.

"""


class Origin(NamedTuple):
    """What the comment above a threshold says: where it comes from."""

    name: str
    text: str


def origins() -> dict[str, str]:
    """By threshold what its table says of its origin; empty where it says nothing."""
    return {origin.name: origin.text for table in TABLES for origin in _of_table(table)}


def _of_table(table: str) -> list[Origin]:
    """A comment stands above the key, or above the first of several keys; one above a header is for all of them."""
    lines = (resources.files(__package__) / f"{table}.toml").read_text("utf-8").splitlines()
    known: list[Origin] = []
    section, origin = "", ""
    comment: list[str] = []
    for line in lines:
        text = line.strip()
        if text.startswith("#"):
            comment.append(text.lstrip("# "))
            continue
        stated = _ORIGIN.search(" ".join(comment))
        if header := re.fullmatch(r"\[([^\[\]]+)\]", text):
            section, origin = f"{header[1]}.", stated[1] if stated else ""
            comment = []
        elif key := re.match(r"([\w.-]+)\s*=", text):
            origin = stated[1] if stated else origin
            known.append(Origin(f"{table}.{section}{key[1]}", origin))
            known += [Origin(f"{table}.{section}{key[1]}.{inner}", origin) for inner in _inner_keys(text)]
            comment = []
        elif not text and comment and not section:
            comment = comment if stated else []
    return known


def _inner_keys(line: str) -> list[str]:
    """Keys of a table that stands on one line."""
    inline = re.search(r"=\s*\{(.*)\}", line)
    return re.findall(r"([\w-]+)\s*=", inline[1]) if inline else []


def page() -> str:
    """The whole page."""
    told = origins()
    rows = [f"| `{name}` | {value} | {told.get(name, '')} |" for name, value in shipped().items()]
    return _HEAD + "| name | value | origin |\n|---|---|---|\n" + "\n".join(rows) + "\n"


if __name__ == "__main__":
    print(page(), end="")
