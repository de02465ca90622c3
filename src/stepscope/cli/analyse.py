"""``stepscope analyse``: turn what the profiler recorded into the documented files."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import nullcontext
from multiprocessing import parent_process
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from stepscope.cli.options import Json, Language, Store, language

#: What the vendor's collector leaves behind that its parsed files repeat; its raw data stay.
_REDUNDANT: Final = (
    "PROF_*/mindstudio_profiler_output",
    "PROF_*/mindstudio_profiler_log",
    "PROF_*/host/sqlite",
    "PROF_*/device_*/sqlite",
    "PROF_*/*/data/all_file.complete",
)


def analyse(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH", show_default=False)],
    step: Annotated[list[int] | None, typer.Option(min=0)] = None,
    keep_all: Annotated[bool, typer.Option("--keep-all")] = False,
    jobs: Annotated[int | None, typer.Option(min=1)] = None,
    store: Store = None,
    json: Json = False,
    lang: Language = None,
) -> None:
    """Turn recordings of stepscope.profiler into the documented output files (ASCEND_PROFILER_OUTPUT)."""
    from stepscope.errors import NoAnswerError
    from stepscope.profiler.profiler import captures

    del lang
    window_of_path: dict[Path, Path] = {}  # each window once, however it is spelled
    for path in paths:
        here = captures(path)
        if not here:
            raise NoAnswerError("nothing_recorded", path=str(path))
        window_of_path |= {window.resolve(): window for window in here}
    results = []
    for done in _all(list(window_of_path.values()), step, keep_all, jobs, store):
        results.append(done)
        if not json:
            _show(done)
    if json:
        import json as encoder

        typer.echo(encoder.dumps({"schema": "stepscope.analyse/1", "data": results}, ensure_ascii=False))
    failed = [done for done in results if done["error"] is not None]
    if failed:
        raise NoAnswerError("windows_not_parsed", count=len(failed), total=len(results), first=failed[0]["error"])


def parse_window(directory: Path, steps: list[int] | None, keep_all: bool, store: Path | None) -> dict[str, Any]:
    """Read one window and write its files; a failure is part of the answer, so that the others go on."""
    from stepscope.deliver.capture_directory import deliver
    from stepscope.errors import StepscopeError
    from stepscope.report.progress import working
    from stepscope.run import load

    began = time.monotonic()
    answer: dict[str, Any] = {"directory": str(directory), "files": [], "notes": [], "error": None}
    try:
        run = load(directory, store=store)
        # Of several processes, each with a sign of its own, nobody could read any.
        with nullcontext() if parent_process() else working(language()):
            for rank in run.ranks:
                answer["files"] += [str(file) for file in deliver(run.store, rank, directory, steps=steps)]
        answer["notes"] = [note.sentence(language()) for note in run.notes]
        if not keep_all:
            _simplify(directory)
    except StepscopeError as error:
        answer["error"] = error.message(language())
    except OSError as error:
        answer["error"] = str(error)
    answer["seconds"] = round(time.monotonic() - began, 3)
    return answer


def _all(
    windows: list[Path], steps: list[int] | None, keep_all: bool, jobs: int | None, store: Path | None
) -> Iterator[dict[str, Any]]:
    import multiprocessing
    import os

    jobs = min(jobs or max(1, (os.cpu_count() or 2) // 2), len(windows))
    if jobs == 1:
        for directory in windows:
            yield parse_window(directory, steps, keep_all, store)
        return
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        for task in as_completed([pool.submit(parse_window, one, steps, keep_all, store) for one in windows]):
            yield task.result()


def _simplify(directory: Path) -> None:
    for pattern in _REDUNDANT:
        for entry in directory.glob(pattern):
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)


def _show(done: dict[str, Any]) -> None:
    from stepscope.report.console import echo
    from stepscope.texts import text

    if done["error"] is None:
        files, seconds = len(done["files"]), done["seconds"]
        echo(text("report.window_parsed", language(), directory=done["directory"], files=files, seconds=seconds))
        for note in done["notes"]:
            echo(f"  {note}")
    else:
        echo(f"{done['directory']}: {done['error']}", err=True)
