"""From a run to files of other formats."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from stepscope.deliver import chrome_trace, cluster_files, parquet, redaction
from stepscope.errors import UnreadableInputError, UsageError
from stepscope.store.run_store import RunStore

TARGETS: Final = ("chrome", "cluster", "parquet")


def check_target(target: str) -> None:
    """Refuse a format that cannot be written."""
    if target not in TARGETS:
        raise UsageError("unknown_target", target=target, targets=", ".join(TARGETS))


def export(
    store: RunStore,
    target: str,
    out: Path,
    *,
    captures: Sequence[Path],
    ranks: list[int] | None = None,
    merge: bool = False,
    force: bool = False,
    redact: bool = False,
) -> Iterator[Path]:
    """Write the run; yields what was written. Nothing appears under its name before it is whole.

    ``captures`` are the paths it was read from, where nothing may be written.
    """
    check_target(target)
    known = [part.rank for part in store.manifest.parts]
    for rank in ranks or ():
        if rank not in known:
            raise UsageError("no_such_rank", rank=rank, ranks=", ".join(map(str, known)))
    chosen = ranks or known
    resolved = out.expanduser().resolve()
    for capture in (path.resolve() for path in captures):
        if resolved.is_relative_to(capture) or capture.is_relative_to(resolved):  # also --force never removes a capture
            raise UsageError("out_inside_capture", path=str(out))
    if redact:
        store = redaction.redacted(store)
    if target == "parquet":
        yield _place(out, force, lambda draft: parquet.write(store, chosen, draft))
    elif target == "cluster":
        yield _place(out, force, lambda draft: cluster_files.write(store, chosen, draft))
    elif merge or len(chosen) == 1:
        yield _place(out, force, lambda draft: chrome_trace.write(store, chosen, draft, zipped=out.suffix == ".gz"))
    else:
        for rank in chosen:
            file = out / f"rank{rank}.json.gz"
            yield _place(file, force, lambda draft, rank=rank: chrome_trace.write(store, [rank], draft, zipped=True))


def _place(final: Path, force: bool, write: object) -> Path:
    """Write beside the final place, then move."""
    assert callable(write)
    if final.exists() and not force:
        raise UsageError("out_exists", path=str(final))
    draft = final.with_name(f".{final.name}.part")
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        _remove(draft)
        write(draft)
        if final.is_dir():
            _remove(final)
        draft.replace(final)
    except OSError as error:
        with contextlib.suppress(OSError):
            _remove(draft)
        raise UnreadableInputError("cannot_write", path=str(final), reason=error.strerror or str(error)) from error
    except BaseException:
        _remove(draft)
        raise
    return final


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
