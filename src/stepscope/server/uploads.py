"""Dropped files: streamed into a directory of their own below the cache, bounded in size, named by what they hold."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import time
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from starlette.concurrency import run_in_threadpool

from stepscope.errors import UnreadableInputError, UsageError
from stepscope.facts.server import server_facts
from stepscope.server.settings import Settings
from stepscope.store.integrity import PRIVATE_FILE, private_directory

_STRANGE: Final = re.compile(r"[^\w.\-+=@ ()\[\]]+")
_LONGEST_NAME: Final = 150


async def receive(name: str, content: AsyncIterator[bytes], settings: Settings) -> Path:
    """Store what a client sends; the same content sent again lies in the same place."""
    draft = settings.uploads / f"draft-{uuid.uuid4().hex}"
    digest, size = hashlib.sha256(), 0
    try:
        private_directory(settings.uploads)
        with open(draft, "xb", opener=_privately) as file:
            async for piece in content:
                size += len(piece)
                if size > settings.upload_limit:
                    raise UsageError("upload_too_large", limit=settings.upload_limit)
                digest.update(piece)
                await run_in_threadpool(file.write, piece)
        if size == 0:
            raise UnreadableInputError("empty_file", path=safe_name(name))
        final = settings.uploads / digest.hexdigest()[:24] / safe_name(name)
        private_directory(final.parent)
        draft.replace(final)
        return final.resolve()
    except OSError as error:
        reason = error.strerror or str(error)
        raise UnreadableInputError("cannot_write_store", store=str(settings.uploads), reason=reason) from error
    finally:
        draft.unlink(missing_ok=True)


def _privately(path: str, flags: int) -> int:
    return os.open(path, flags, PRIVATE_FILE)


def sweep(settings: Settings) -> None:
    """Remove what a server that was killed left behind."""
    oldest = time.time() - int(server_facts().keep_uploads_seconds)
    with contextlib.suppress(OSError):
        for entry in settings.uploads.iterdir():
            if entry.stat().st_mtime < oldest:
                shutil.rmtree(entry, ignore_errors=True) if entry.is_dir() else entry.unlink(missing_ok=True)


def safe_name(name: str) -> str:
    """The last part of a name, without what a file system or a shell could misread.

    >>> safe_name("../../etc/<b>.json"), safe_name("..")
    ('_b_.json', 'capture')
    """
    last = re.split(r"[\\/]", name)[-1]
    cleaned = _STRANGE.sub("_", last).strip(" .")
    return cleaned[-_LONGEST_NAME:] or "capture"
