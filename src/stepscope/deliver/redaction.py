"""A redacted run: without names of hosts and users, and without the directories of its paths.

Each distinct text is looked at once, and only if it may name something, which Polars finds out for whole columns.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
import polars as pl

from stepscope.deliver.identities import Finder, Pseudonyms, pieces
from stepscope.facts.redaction import redaction_facts
from stepscope.store import schema
from stepscope.store.run_store import RunStore

_JSON_COLUMNS: Final = {("details", "json"), ("notes", "params")} | {
    ("ranks", name) for name in ("peak_facts", "versions", "switches")
}
_FACTS: Final = redaction_facts()
_VARIABLES: Final = "|".join((*_FACTS.user_variables, *_FACTS.host_variables))
_LITERAL: Final = re.compile(rf'(?:"(?P<key>{_VARIABLES})"\s*:\s*)?(?P<literal>"[^"\\]*(?:\\.[^"\\]*)*")', re.DOTALL)
_MAY_NAME_A_PLACE: Final = rf"[/\\%@.]|:[0-9A-Fa-f:]*:|(?:{_VARIABLES})(?:=|\"\s*:)"


@dataclass(kw_only=True)
class RedactedStore(RunStore):
    """A run whose tables, notes and manifest have pseudonyms; the files stay as they are."""

    behind: RunStore
    pseudonyms: Pseudonyms

    def scan(self, table: str, ranks: list[int] | None = None) -> pl.LazyFrame:
        frame = self.behind.scan(table, ranks)
        return frame.with_columns(
            pl.col(name).map_batches(
                partial(self._column, table=table), return_dtype=schema.TABLES[table].schema[name], is_elementwise=True
            )
            for name in _text_columns(table)
        )

    def _column(self, column: pl.Series, table: str) -> pl.Series:
        names = self.pseudonyms
        texts = _unlike(column)
        doubtful = texts.str.contains(_MAY_NAME_A_PLACE)
        if names.words:
            doubtful |= texts.str.contains_any(names.words, ascii_case_insensitive=True)
        change: Callable[[str], str] = names.text
        if (table, column.name) in _JSON_COLUMNS:
            change = partial(_changed_json, names)
        elif (table, column.name) == ("ranks", "host"):
            change, doubtful = names.host, texts.is_not_null()
        changed = {text: new for text in texts.filter(doubtful) if (new := change(text)) != text}
        if not changed:
            return column
        return column.cast(pl.String).replace(list(changed), list(changed.values())).cast(column.dtype)


def redacted(store: RunStore, pseudonyms: Pseudonyms | None = None) -> RunStore:
    """The run with the same pseudonyms however much of it is written; with those of several runs where given."""
    manifest = store.manifest
    names = pseudonyms_of(store) if pseudonyms is None else pseudonyms
    parts = [replace(part, source=names.text(part.source)) for part in manifest.parts]
    told = replace(manifest, parts=parts, capture=names.text(manifest.capture), window=names.text(manifest.window))
    return RedactedStore(store.directory, told, behind=store, pseudonyms=names)


def pseudonyms_of(*stores: RunStore) -> Pseudonyms:
    """Pseudonyms for everything that some runs name; the same name has the same one in all of them."""
    finder = Finder(frozenset().union(*map(_directories_of_capture, stores)))
    for store in stores:
        manifest = store.manifest
        for host in store.scan("ranks").sort("rank").select("host").collect()["host"].drop_nulls():
            finder.host(str(host))
        for part in manifest.parts:
            finder.capture(Path(part.source).name)
            finder.piece(part.source)
        for part_of_name in manifest.window.split("/"):
            finder.capture(part_of_name)
        finder.piece(manifest.capture)
    for store in stores:
        for piece in _doubtful_pieces(store, finder):
            finder.piece(piece)
    return Pseudonyms(finder)


def _directories_of_capture(store: RunStore) -> frozenset[str]:
    """Directories that are known as such, so that blanks may be part of their names."""
    directories = {Path(part.source).parent for part in store.manifest.parts}
    if Path(store.manifest.capture).is_dir():
        directories.add(Path(store.manifest.capture))
    return frozenset(str(directory) for directory in directories if directory.name)


def _doubtful_pieces(store: RunStore, found: Finder) -> Iterator[str]:
    """Distinct pieces of all texts that may name a place or another node; per rank where a table is large."""
    doubtful = "|".join([_MAY_NAME_A_PLACE, *(rf"(?i:{name})" for name in found.numbered_names)])
    ranks = [part.rank for part in store.manifest.parts]
    for table in schema.TABLES:
        for chosen in [[rank] for rank in ranks] if schema.TABLES[table].per_rank else [None]:
            for name in _text_columns(table):
                column = store.scan(table, chosen).select(name).collect()[name]
                texts = _unlike(column)
                texts = texts.filter(texts.str.contains(doubtful))
                strings = _strings if (table, name) in _JSON_COLUMNS else _itself
                yield from {piece for text in texts for string in strings(text) for piece in pieces(string)}


def _text_columns(table: str) -> list[str]:
    return [
        name
        for name, kind in schema.TABLES[table].schema.items()
        if kind == pl.String or (isinstance(kind, pl.Categorical) and not isinstance(kind, pl.Enum))
    ]


def _unlike(column: pl.Series) -> pl.Series:
    return column.unique().drop_nulls().cast(pl.String)


def _itself(text: str) -> list[str]:
    return [text]


def _strings(text: str) -> list[str]:
    """The strings of a JSON text; of what is none, the text itself."""
    if not _is_json(text):
        return [text]
    return [_assigned(match) for match in _LITERAL.finditer(text)]


def _changed_json(names: Pseudonyms, text: str) -> str:
    """Only strings are replaced, so that numbers stay digit for digit."""
    if not _is_json(text):
        return names.text(text)

    def literal(found: re.Match[str]) -> str:
        before = _assigned(found)
        after = names.text(before)
        if after == before:
            return found[0]
        unchanged = found[0].removesuffix(found["literal"])
        return unchanged + json.dumps(after.removeprefix(f"{found['key']}="))

    return _LITERAL.sub(literal, text)


def _assigned(found: re.Match[str]) -> str:
    """What a literal says; with the variable of the environment of which it is the value."""
    text = _meant(found["literal"])
    return text if found["key"] is None else f"{found['key']}={text}"


def _meant(literal: str) -> str:
    return str(json.loads(literal)) if "\\" in literal else literal[1:-1]


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except msgspec.DecodeError:
        with contextlib.suppress(ValueError):
            json.loads(text)  # knows NaN too
            return True
        return False
    return True
