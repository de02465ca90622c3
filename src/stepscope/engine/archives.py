"""Archives of captures (tar, also compressed, and zip): unpacked once beside the stored runs, within bounds."""

from __future__ import annotations

import os
import re
import shutil
import tarfile
import time
import uuid
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Final

from stepscope.errors import UnreadableInputError
from stepscope.facts.archives import archives_facts
from stepscope.store.integrity import PRIVATE_FILE, private_directory

_NAME: Final = re.compile(r"\.(?:tar(?:\.(?:gz|bz2|xz))?|tgz|tbz2|txz|zip)$", re.IGNORECASE)
_DAMAGED: Final = (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
_CUT: Final = ".cut"  # lies in the directory of an archive that could be read in part only
_BLOCK_BYTES: Final = 1 << 20
_KEPT_S: Final = 3600  # other processes may still read what an older archive held


def is_archive(path: Path) -> bool:
    """Whether a path is an archive by its name; what is in it decides when it is opened.

    >>> [is_archive(Path(__file__).with_name(name)) for name in ("a.json.gz", "a.py")]
    [False, False]
    """
    return _NAME.search(path.name) is not None and path.is_file()


def is_cut(directory: Path) -> bool:
    """Whether an archive was damaged, so that this directory holds only the files before the damage."""
    return (directory / _CUT).exists()


def unpacked(path: Path, archive_directory: Path) -> Path:
    """The directory with the content of an archive below the given one; made anew where the archive has changed."""
    try:
        state = path.stat()
    except OSError as error:
        raise UnreadableInputError("cannot_read", path=str(path), reason=error.strerror or str(error)) from error
    directory = archive_directory / f"{state.st_size:x}-{state.st_mtime_ns:x}"
    if directory.is_dir():
        return directory
    private_directory(archive_directory)
    draft = archive_directory / f"tmp-{uuid.uuid4().hex}"
    try:
        _unpack(path, draft, state.st_size)
        draft.replace(directory)
    except OSError as error:
        if not directory.is_dir():  # another process may have been first
            raise UnreadableInputError("cannot_unpack", path=str(path), reason=error.strerror or str(error)) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    _sweep(archive_directory, directory)
    return directory


def _unpack(path: Path, draft: Path, size: int) -> None:
    """Write the files of an archive into a new directory; a damaged one ends early."""
    limits = archives_facts()
    left = max(limits.always_allowed_mb << 20, size * limits.most_expansion)
    draft.mkdir(mode=0o700)
    count = 0
    try:
        for name, content, modified in _members(path):
            count += 1
            if count > limits.most_files:
                raise UnreadableInputError("too_many_files", path=str(path), limit=limits.most_files)
            target = draft / _safe(name, path)
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            left -= _write(content, target, left, path)
            os.utime(target, (modified, modified))
    except _DAMAGED as error:
        if not count:
            raise UnreadableInputError("cannot_unpack", path=str(path), reason=str(error)) from error
        (draft / _CUT).touch(mode=PRIVATE_FILE)


def _members(path: Path) -> Iterator[tuple[str, IO[bytes], float]]:
    """Name, content and time of the plain files of an archive, in its order; links and devices are left out."""
    if zipfile.is_zipfile(path):
        yield from _zip_members(path)
    elif tarfile.is_tarfile(path):
        yield from _tar_members(path)
    else:
        raise UnreadableInputError("not_an_archive", path=str(path))


def _zip_members(path: Path) -> Iterator[tuple[str, IO[bytes], float]]:
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            if not entry.is_dir():
                moment = time.mktime((*entry.date_time, 0, 0, -1))
                with archive.open(entry) as content:
                    yield entry.filename, content, moment


def _tar_members(path: Path) -> Iterator[tuple[str, IO[bytes], float]]:
    with tarfile.open(path) as archive:
        for member in archive:
            extracted = archive.extractfile(member) if member.isreg() else None
            if extracted is not None:
                yield member.name, extracted, member.mtime


def _safe(name: str, path: Path) -> Path:
    """The path inside the directory; an archive with a file that would lie outside is refused."""
    inside = PurePosixPath(name.replace("\\", "/"))
    is_inside = inside.parts and not inside.is_absolute() and ".." not in inside.parts
    if not is_inside or ":" in inside.parts[0] or "\0" in name:
        raise UnreadableInputError("archive_unsafe_name", path=str(path), name=name[:200])
    return Path(*inside.parts)


def _write(content: IO[bytes], target: Path, left: int, path: Path) -> int:
    """Copy one file; gives its size."""
    written = 0
    target.touch(mode=PRIVATE_FILE)
    with target.open("wb") as file:
        while block := content.read(_BLOCK_BYTES):
            written += len(block)
            if written > left:
                raise UnreadableInputError("decompression_bomb", path=str(path), times=archives_facts().most_expansion)
            file.write(block)
    return written


def _sweep(archive_directory: Path, current: Path) -> None:
    """Remove what older versions of the archive held."""
    for other in archive_directory.iterdir():
        if other != current and time.time() - other.stat().st_mtime > _KEPT_S:
            shutil.rmtree(other, ignore_errors=True)
