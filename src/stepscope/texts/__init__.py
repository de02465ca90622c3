"""The catalogue of all sentences, Chinese and English, by key: ``note.file_truncated``, ``error.not_json`` …"""

from __future__ import annotations

import os
import tomllib
from functools import cache
from importlib import resources
from typing import Any, Final

LANGUAGES: Final = ("en", "zh")


def text(key: str, lang: str = "en", **params: Any) -> str:
    """The sentence of a key, with its values put in.

    >>> text("error.no_such_path", path="a.json")
    'There is no file or directory a.json.'
    """
    section, _, name = key.partition(".")
    # Parsing all files takes longer than most commands work, so only the one with the key is parsed.
    sections = next((_parsed(file) for file, content in _files().items() if f"[{key}]" in content), {})
    return str(sections[section][name][lang].format(**params))


@cache
def catalogue() -> dict[str, dict[str, dict[str, str]]]:
    """All sentences: section, name, language. Each file beside this module adds to it."""
    sections: dict[str, dict[str, dict[str, str]]] = {}
    for file in _files():
        for section, entries in _parsed(file).items():
            sections.setdefault(section, {}).update(entries)
    return sections


@cache
def _files() -> dict[str, str]:
    """The content of each file, by its name."""
    files = resources.files(__package__).iterdir()
    return {file.name: file.read_text("utf-8") for file in files if file.name.endswith(".toml")}


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
