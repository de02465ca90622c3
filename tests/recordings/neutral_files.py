"""Makes recordings fit for the repository: small, and without the names of the machine that they came from."""

from __future__ import annotations

import contextlib
import gzip
import io
import lzma
import os
import re
import socket
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

#: What stands in a recording instead of the machine's own names.
HOST = "training-host"
FOLDER = "/data"


@contextlib.contextmanager
def working_folder() -> Iterator[Path]:
    """A folder to record in, and to be in while recording."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="sample") as name:
        os.chdir(name)
        try:
            yield Path(name)
        finally:
            os.chdir(before)


def keep_trace(trace: Path, kept: Path) -> None:
    """A trace as ``.json.gz``."""
    kept.write_bytes(gzip.compress(_neutral(trace.read_bytes(), trace.parent), mtime=0))
    print(f"{kept}: {kept.stat().st_size:,} bytes")


def keep_folder(folder: Path, kept: Path) -> None:
    """A capture directory with all files below it as ``.tar.gz`` or, where ranks repeat each other, ``.tar.xz``."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            content = _neutral(path.read_bytes(), folder)
            member = tarfile.TarInfo(str(path.relative_to(folder)))
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    compressed = lzma.compress(packed.getvalue()) if kept.suffix == ".xz" else gzip.compress(packed.getvalue(), mtime=0)
    kept.write_bytes(compressed)
    print(f"{kept}: {kept.stat().st_size:,} bytes")


def _neutral(content: bytes, folder: Path) -> bytes:
    for path in (folder, folder.resolve()):
        content = content.replace(str(path).encode(), FOLDER.encode())
    # Where PyTorch keeps what it compiled; the name is that of the user.
    content = re.sub(rb"/tmp/torchinductor_\w+", f"{FOLDER}/torchinductor".encode(), content)
    host = socket.gethostname()
    return content.replace(f'"{host}"'.encode(), f'"{HOST}"'.encode())
