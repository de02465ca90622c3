"""Captures on object storage or any other file system that fsspec knows (``s3://bucket/run``, ``memory://run``).

What lies below the given address, and nothing else, is fetched into a directory beside the stored runs; files that have
not changed since are not fetched again. ``file://`` is this machine's own file system: nothing is fetched.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final

from stepscope.errors import UnreadableInputError, UsageError
from stepscope.facts.remote import remote_facts
from stepscope.store.integrity import private_directory, read_document, save_document
from stepscope.store.location import directory_of

# A Path has lost one of the two slashes. A single letter is a drive.
_ADDRESS: Final = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]+):/+(.*)")
_STATE: Final = ".fetched.json"
#: What changes with the content, by the file systems that have it.
_STAMPS: Final = ("ETag", "etag", "md5Hash", "content_md5", "LastModified", "last_modified", "mtime", "created")


def local_paths(paths: Sequence[Path], store: Path | None) -> list[Path]:
    """The paths, with addresses replaced by what was fetched from them."""
    return [path if (address := address_of(path)) is None else _fetched(address, store) for path in paths]


def address_of(path: Path) -> str | None:
    """The address that a path stands for; None for one of this machine.

    >>> address_of(Path("s3://bucket/run 7")), address_of(Path("C:/runs")), address_of(Path("runs"))
    ('s3://bucket/run 7', None, None)
    """
    parts = _ADDRESS.fullmatch(str(path))
    if parts is None or path.exists():
        return None
    slashes = "///" if parts[1] == "file" else "//"
    return f"{parts[1]}:{slashes}{parts[2]}"


def _fetched(address: str, store: Path | None) -> Path:
    try:
        from fsspec.core import url_to_fs
        from fsspec.implementations.local import LocalFileSystem
    except ImportError as error:
        raise UsageError("engine_missing", package="fsspec") from error
    try:
        system, root = url_to_fs(address)
        if isinstance(system, LocalFileSystem):
            return Path(root)
        files = _files(system, root, address)
        return _mirrored(system, root, files, directory_of([Path(address)], "", store).parent / "fetched")
    except ImportError as error:
        raise UsageError("remote_needs_package", address=address, reason=str(error)) from error
    except (OSError, ValueError) as error:
        raise UnreadableInputError("remote_unreadable", address=address, reason=str(error) or repr(error)) from error


def _files(system: Any, root: str, address: str) -> dict[str, tuple[int, str]]:
    """Size and stamp of each file at or below the address, by its path there."""
    listed: dict[str, dict[str, Any]] = system.find(root, detail=True)
    if not listed:
        raise FileNotFoundError("nothing is there")
    files = {
        path: (int(about.get("size") or 0), str(next((about[name] for name in _STAMPS if about.get(name)), "")))
        for path, about in listed.items()
    }
    limits = remote_facts()
    gigabytes = sum(size for size, _ in files.values()) / 1e9
    if len(files) > limits.most_files or gigabytes > limits.most_gigabytes:
        raise UnreadableInputError(
            "remote_too_large",
            address=address,
            files=len(files),
            gigabytes=round(gigabytes, 1),
            most_files=limits.most_files,
            most_gigabytes=limits.most_gigabytes,
        )
    return files


def _mirrored(system: Any, root: str, files: dict[str, tuple[int, str]], mirror: Path) -> Path:
    """The directory, or the one file, with the present content."""
    top = PurePosixPath(root)
    whole = top.name or "capture"
    inside = {
        path: whole if PurePosixPath(path) == top else f"{whole}/{PurePosixPath(path).relative_to(top)}"
        for path in files
    }
    private_directory(mirror)
    known = _kept_state(mirror)
    for path, (size, stamp) in files.items():
        target = mirror / _safe(inside[path])
        if known.get(inside[path]) == [size, stamp] and target.is_file() and target.stat().st_size == size:
            continue
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = target.with_name(f".{target.name}.part")
        system.get_file(path, str(draft))
        draft.replace(target)
    for gone in known.keys() - set(inside.values()):
        (mirror / _safe(gone)).unlink(missing_ok=True)
    save_document(mirror / _STATE, {inside[path]: list(state) for path, state in files.items()})
    return mirror / whole


def _kept_state(mirror: Path) -> dict[str, list[Any]]:
    try:
        known: dict[str, list[Any]] = read_document(mirror / _STATE)
        return known
    except (OSError, ValueError):
        return {}


def _safe(name: str) -> Path:
    """The path inside the directory; names in object storage may lead out of it."""
    parts = PurePosixPath(name).parts
    if ".." in parts or PurePosixPath(name).is_absolute() or "\0" in name:
        raise ValueError(f"unsafe name {name[:200]!r}")
    return Path(*parts)
