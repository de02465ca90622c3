"""From a run to files of other formats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from stepscope.deliver import chrome_trace, cluster_files, parquet, redaction
from stepscope.deliver.placing import check_outside, place
from stepscope.errors import UsageError
from stepscope.store.run_store import RunStore
from stepscope.texts.numbers import ranges

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
            raise UsageError("no_such_rank", rank=rank, ranks=ranges(known))
    chosen = ranks or known
    check_outside(out, captures)
    if redact:
        store = redaction.redacted(store)
    if target == "parquet":
        yield place(out, force, lambda draft: parquet.write(store, chosen, draft))
    elif target == "cluster":
        yield place(out, force, lambda draft: cluster_files.write(store, chosen, draft))
    elif merge or len(chosen) == 1:
        yield place(out, force, lambda draft: chrome_trace.write(store, chosen, draft, zipped=out.suffix == ".gz"))
    else:
        for rank in chosen:
            file = out / f"rank{rank}.json.gz"
            yield place(file, force, partial(chrome_trace.write, store, [rank], zipped=True))
