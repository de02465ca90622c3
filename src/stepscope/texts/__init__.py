"""The catalogue of all sentences, Chinese and English, by key: ``note.file_truncated``, ``error.not_json`` …"""

from __future__ import annotations

import os
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol

LANGUAGES: Final = ("en", "zh")
#: A value, the word for one and the word for several.
_WORD: Final = re.compile(r"\{(\w+)\|([^|{}]*)\|([^|{}]*)\}")
#: Whole numbers that name something instead of counting it stand as they are; all others have their thousands apart.
IDENTIFIERS: Final = frozenset(
    {
        *("device", "first", "last", "line", "number", "one", "other", "pid", "place"),
        *("port", "rank", "second", "seq", "slice", "stage", "step", "value"),
    }
)


def text(key: str, lang: str = "en", **params: Any) -> str:
    """The sentence of a key, with its values put in.

    ``{count|rank|ranks}`` is the word that goes with a number, as in the page's own sentences. Numbers of things have
    their thousands apart; those that name a rank or a step (``IDENTIFIERS``) do not.

    >>> text("error.no_such_path", path="a.json")
    'There is no file or directory a.json. Check the path.'
    >>> text("report.more_rows", count=1), text("report.more_rows", count=2)
    ('… 1 more row; use --json or --csv to see all.', '… 2 more rows; use --json or --csv to see all.')
    >>> text("finding_ranks.every", count=1024), text("finding_ranks.every", "zh", count=1024)
    ('all 1,024 ranks', '全部 1,024 个 rank')
    """
    section, _, name = key.partition(".")
    # Parsing all files takes longer than most commands work, so only the one with the key is parsed.
    sections = next((_parsed(file) for file, content in _files().items() if f"[{key}]" in content), {})
    sentence = _WORD.sub(lambda word: word[2 if str(params[word[1]]) == "1" else 3], sections[section][name][lang])
    return sentence.format(**{name: _written(name, value) for name, value in params.items()})


def _written(name: str, value: object) -> object:
    counts = isinstance(value, int) and not isinstance(value, bool) and name not in IDENTIFIERS
    return f"{value:,}" if counts else value


class InBoth(Protocol):
    """A sentence in both languages."""

    @property
    def en(self) -> str: ...
    @property
    def zh(self) -> str: ...


def in_language(words: InBoth, lang: str) -> str:
    """The sentence in one of them."""
    return words.zh if lang == "zh" else words.en


@cache
def entries(section: str) -> dict[str, dict[str, str]]:
    """All sentences of a section, by name and language; only the files that have some are parsed."""
    files = [file for file, content in _files().items() if f"[{section}." in content]
    return {key: entry for file in files for key, entry in _parsed(file).get(section, {}).items()}


@cache
def catalogue() -> dict[str, dict[str, dict[str, str]]]:
    """All sentences: section, name, language. Each file beside this module adds to it."""
    sections: dict[str, dict[str, dict[str, str]]] = {}
    for file in _files():
        for section, sentences in _parsed(file).items():
            sections.setdefault(section, {}).update(sentences)
    return sections


@cache
def _files() -> dict[str, str]:
    """The content of each file, by its path."""
    files = sorted(file for directory in __path__ for file in Path(directory).glob("*.toml"))
    return {str(file): file.read_text("utf-8") for file in files}


@cache
def _parsed(file: str) -> dict[str, dict[str, dict[str, str]]]:
    return tomllib.loads(_files()[file])


def preferred_language() -> str:
    """Chinese where the environment asks for it, else English."""
    for variable in ("STEPSCOPE_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        value = os.environ.get(variable)
        if value:
            return "zh" if value.lower().startswith("zh") else "en"
    return "en"
