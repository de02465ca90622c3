"""Paths from requests: resolved first, then looked for below the roots, and only then touched."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stepscope.errors import UnreadableInputError, UsageError
from stepscope.facts.server import server_facts


@dataclass(frozen=True)
class ListedEntry:
    name: str
    path: str
    kind: str
    bytes: int | None
    modified_ns: str


@dataclass(frozen=True)
class Listing:
    """Entries of a directory below the roots, or the roots themselves."""

    path: str | None
    parent: str | None
    entries: list[ListedEntry]
    truncated: bool


def below_roots(text: str, roots: Sequence[Path]) -> Path:
    """The real path that a text names, absolute or relative to a root. Links are followed before the check."""
    if "\0" in text or not text.strip():
        raise UsageError("path_outside", path=text.replace("\0", ""))
    for root in roots:
        base = root if root.is_dir() else root.parent
        try:
            path = (base / text).resolve(strict=True)
        except (OSError, RuntimeError, ValueError):
            continue
        if any(path == each or path.is_relative_to(each) for each in roots):
            return path
    asked = Path(os.path.normpath(text))
    if asked.is_absolute() and not any(asked.is_relative_to(root) for root in roots):
        raise UsageError("path_outside", path=text)
    if ".." in Path(text).parts:
        raise UsageError("path_outside", path=text)
    raise UnreadableInputError("no_such_path", path=text)


def listing(text: str | None, roots: Sequence[Path]) -> Listing:
    """What lies in a directory below the roots; the roots where no directory is named."""
    if text is None:
        return Listing(None, None, [entry for root in roots if (entry := _entry(root, str(root)))], False)
    directory = below_roots(text, roots)
    if not directory.is_dir():
        directory = directory.parent
        if not any(directory.is_relative_to(root) for root in roots):
            return listing(None, roots)
    most = int(server_facts().most_listed_entries)
    try:
        children = sorted(directory.iterdir(), key=lambda child: child.name)
    except OSError as error:
        raise UnreadableInputError("cannot_read", path=str(directory), reason=error.strerror or str(error)) from error
    seen = [entry for child in children[:most] if _is_below(child, roots) and (entry := _entry(child, child.name))]
    parent = str(directory.parent) if directory not in roots else None
    return Listing(str(directory), parent, seen, len(children) > most)


def _is_below(path: Path, roots: Sequence[Path]) -> bool:
    """A link may lead out; it is not shown then."""
    try:
        target = path.resolve(strict=True)
    except (OSError, RuntimeError):
        return False
    return any(target == root or target.is_relative_to(root) for root in roots)


def _entry(path: Path, name: str) -> ListedEntry | None:
    try:
        facts_of = path.stat()
    except OSError:
        return None
    kind = "directory" if path.is_dir() else "file"
    return ListedEntry(
        name, str(path), kind, None if kind == "directory" else facts_of.st_size, str(facts_of.st_mtime_ns)
    )
