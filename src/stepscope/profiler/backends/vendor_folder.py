"""The directory that a vendor's own collector makes for a window, taken apart into ours."""

from __future__ import annotations

import shutil
from pathlib import Path

from stepscope.profiler.foundation.line_files import remove_tree
from stepscope.profiler.foundation.paths import exists, is_directory

#: Their directory lies here until its content is taken out; inside ours, so that no file system is crossed.
SCRATCH = "collector"


def take_out(directory: Path, suffix: str, theirs_first: str = "") -> None:
    """Their parsed files stay in their folder of that name, the raw ones come beside ours; of files that both wrote,
    ours stay, but for those whose names begin with ``theirs_first``."""
    for made in sorted((directory / SCRATCH).glob(f"*_{suffix}")):
        for entry in sorted(made.iterdir()):
            target = directory / entry.name
            if is_directory(entry) and is_directory(target):
                for inner in entry.iterdir():
                    shutil.move(str(inner), str(target / inner.name))
            elif theirs_first and not is_directory(entry) and entry.name.startswith(theirs_first):
                entry.replace(target)
            elif not exists(target):
                shutil.move(str(entry), str(target))
    remove_tree(directory / SCRATCH)
