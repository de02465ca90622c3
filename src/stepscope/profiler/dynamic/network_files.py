"""Whether a folder lies on another machine: such a file system may hang, and the training must not hang with it."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

from stepscope.profiler.foundation.own_faults import ours

_MOUNTS = Path("/proc/self/mountinfo")
#: As Linux names them. File systems of user space (fuse) are mostly views of remote storage.
_REMOTE = {
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "glusterfs",
    "gpfs",
    "lustre",
    "nfs",
    "nfs4",
    "orangefs",
    "panfs",
    "smb3",
    "smbfs",
    "wekafs",
}
_LOCAL_FUSE = ("fuse.fuse-overlayfs", "fuse.lxcfs", "fuse.ntfs-3g")


def is_remote(folder: Path) -> bool:
    """False also where the system does not tell."""
    try:
        kind = file_system_of(os.path.realpath(folder), _MOUNTS.read_text())
    except ours(OSError, ValueError):
        return False
    return kind in _REMOTE or (kind.startswith("fuse.") and kind not in _LOCAL_FUSE)


def file_system_of(path: str, mounts: str) -> str:
    """The kind of file system that a path lies on, by the text of ``mountinfo``; empty where no line fits.

    >>> lines = "1 0 0:1 / / rw - ext4 /dev/a rw\\n2 1 0:2 / /my\\\\040data rw shared:1 - nfs4 host:/data rw"
    >>> file_system_of("/my data/config", lines), file_system_of("/my database", lines)
    ('nfs4', 'ext4')
    """
    best, kind = -1, ""
    for line in mounts.splitlines():
        before, dash, behind = line.partition(" - ")
        words = before.split(" ")
        if not dash or len(words) < 5:
            continue
        mounted = PurePosixPath(words[4].encode().decode("unicode_escape").encode("latin-1").decode("utf-8", "replace"))
        depth = len(mounted.parts)
        if PurePosixPath(path).parts[:depth] == mounted.parts and depth >= best:  # a later one lies over an earlier
            best, kind = depth, behind.split(" ")[0]
    return kind
