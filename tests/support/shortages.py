"""Real shortages of a machine, for a job that runs in this process: no inode, space or handle left, a directory gone.

Each is a number of cases: when it strikes (before the training, in the warm-up, while recording), and how much is left.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

#: Steps after which it strikes; 0 is before the training.
MOMENTS = (0, 1, 2)
_LEFT = 8
_PAGE = 4096


class Shortage:
    """Case ``number`` of a kind, for the folder that captures go to."""

    def __init__(self, kind: str, folder: Path, number: int) -> None:
        self.folder = folder
        self._strike: Callable[[int], None] = getattr(self, f"_{kind}")
        self._moment = MOMENTS[number % len(MOMENTS)]
        self._left = number // len(MOMENTS)

    def after_step(self, steps_done: int) -> None:
        """Strike if it is time to."""
        if steps_done == self._moment:
            self._strike(self._left)

    def _inodes(self, left: int) -> None:
        made: list[Path] = []
        with suppress(OSError):
            while True:
                made.append(self.folder / f"filler{len(made)}")
                made[-1].touch()
        for path in made[:-1][-left:] if left else []:
            path.unlink()

    def _space(self, left: int) -> None:
        with suppress(OSError), (self.folder / "filler").open("wb", buffering=0) as file:
            while True:
                file.write(bytes(_PAGE))
        size = (self.folder / "filler").stat().st_size
        os.truncate(self.folder / "filler", max(0, size - left * _PAGE))

    def _handles(self, left: int) -> None:
        used = os.open("/dev/null", os.O_RDONLY)
        os.close(used)
        resource.setrlimit(resource.RLIMIT_NOFILE, (used + left, used + left))

    def _vanished(self, left: int) -> None:
        del left
        shutil.rmtree(self.folder)

    def _read_only(self, left: int) -> None:
        del left
        # The file system itself cannot change while files on it are open: a second mount of it covers the first.
        subprocess.run(["mount", "--bind", str(self.folder), str(self.folder)], check=True)
        subprocess.run(["mount", "-o", "remount,bind,ro", str(self.folder)], check=True)


#: By name: how many cases there are, and the options of the file system that it needs, if it needs one of its own.
KINDS = {
    "inodes": (len(MOMENTS) * (_LEFT + 6), "nr_inodes=40"),
    "space": (len(MOMENTS) * _LEFT, "size=8m"),
    "handles": (len(MOMENTS) * _LEFT, None),
    "vanished": (len(MOMENTS), None),
    "read_only": (len(MOMENTS), "size=8m"),
}


@contextmanager
def file_system_for(kind: str, folder: Path) -> Iterator[None]:
    """The folder, on a small file system where the shortage needs one; CalledProcessError where none can be had."""
    options = KINDS[kind][1]
    folder.mkdir(parents=True, exist_ok=True)
    if options is None:
        yield
        return
    command = ["mount", "-t", "tmpfs", "-o", options, "stepscope-test", str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    mounted_by = os.getpid()
    try:
        yield
    finally:
        if os.getpid() == mounted_by:  # a forked job ends here, too
            while os.path.ismount(folder):
                subprocess.run(["umount", "-l", str(folder)], check=True, capture_output=True)
