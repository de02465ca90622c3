"""The runs that a server knows: read in the background, some at a time, each with its state and progress."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue

from stepscope.analysis.foundation.byte_cache import ByteCache
from stepscope.analysis.timeline.view import MOST_COLUMN_BYTES, TimelineView
from stepscope.analysis.timeline.wire import MOST_TILE_BYTES
from stepscope.diagnosis.finding import Diagnosis
from stepscope.diagnosis.kept import diagnosis_stamp, known_diagnosis
from stepscope.errors import NoAnswerError, StepscopeError, UsageError, internal, is_panic
from stepscope.facts.server import server_facts
from stepscope.run import Run, load
from stepscope.server.sent_answers import SentAnswers
from stepscope.server.settings import Settings
from stepscope.store import freed_memory
from stepscope.store.location import directory_of

WAITING, READING, READY, FAILED = "waiting", "reading", "ready", "failed"


@dataclass
class Entry:
    """One window of one capture. ``run`` and ``view`` are there when it is ready."""

    id: str
    path: Path
    window: str | None
    uploaded: bool = False
    state: str = WAITING
    done_bytes: int = 0
    total_bytes: int = 0
    error: StepscopeError | None = None
    run: Run | None = None
    view: TimelineView | None = None
    facts: dict[str, object] = field(default_factory=dict)
    #: What was last read of the kept diagnosis, with the stamp that it had then.
    diagnosed: tuple[str, Diagnosis | None] = ("", None)
    removed: bool = False  # nobody waits for it any more

    @property
    def name(self) -> str:
        return self.window or self.path.name

    def diagnosis(self) -> Diagnosis | None:
        """The run's diagnosis if somebody has asked for one; the list of runs works none out."""
        if self.run is None:
            return None
        stamp = diagnosis_stamp(self.run.store)
        if stamp != self.diagnosed[0]:
            self.diagnosed = stamp, known_diagnosis(self.run.store)
        return self.diagnosed[1]


class Library:
    """All that changes is changed under one lock; ``revision`` counts the changes."""

    def __init__(self, settings: Settings, describe: Callable[[Run, TimelineView], dict[str, object]]) -> None:
        self.settings = settings
        self.tiles = ByteCache(MOST_TILE_BYTES)
        self.sent = SentAnswers()
        self.revision = 0
        self._describe = describe
        self._columns = ByteCache(MOST_COLUMN_BYTES)
        self._entries: dict[str, Entry] = {}
        self._lock = threading.Lock()
        self._waiting: SimpleQueue[Entry | None] = SimpleQueue()
        # Daemons, so that they end with the server; a store survives that as it survives any kill.
        for number in range(server_facts().captures_at_once):
            threading.Thread(target=self._read_in_turn, name=f"stepscope-ingest-{number}", daemon=True).start()

    def entries(self) -> list[Entry]:
        with self._lock:
            return list(self._entries.values())

    def entry(self, run_id: str) -> Entry:
        """A known run, in any state."""
        with self._lock:
            entry = self._entries.get(run_id)
        if entry is None:
            raise UsageError("no_such_run", run=run_id)
        return entry

    def ready(self, run_id: str) -> tuple[Run, TimelineView]:
        """A run that can be asked."""
        entry = self.entry(run_id)
        if entry.run is None or entry.view is None:
            if entry.error is not None:
                raise entry.error
            raise NoAnswerError("run_not_ready", name=entry.name, state=entry.state)
        return entry.run, entry.view

    def add(self, path: Path, window: str | None = None, uploaded: bool = False) -> Entry:
        """Put a capture on the list and read it; one that is known is read again if it has changed."""
        with self._lock:
            known = [each for each in self._entries.values() if each.path == path and each.window == window]
            entry = known[0] if known else Entry(run_id(path, window), path, window, uploaded)
            self._entries.setdefault(entry.id, entry)
        return self.open(entry.id)

    def open(self, run_id: str) -> Entry:
        """Read a run, unless it waits or is being read already. What is ready stays usable meanwhile."""
        entry = self.entry(run_id)
        with self._lock:
            if entry.state == READING:
                return entry
            entry.state, entry.error, entry.done_bytes, entry.total_bytes = READING, None, 0, 0
            self.revision += 1
        self._waiting.put(entry)
        return entry

    def remove(self, run_id: str) -> None:
        """Take a run off the list; its reading stops. Only a dropped file's own copy is removed from disk."""
        entry = self.entry(run_id)
        with self._lock:
            entry.removed = True
            self._entries.pop(run_id, None)
            self.revision += 1
            shared = any(each.path == entry.path for each in self._entries.values())
        if entry.uploaded and not shared:
            self._forget_upload(entry)

    def changed(self) -> None:
        """Something that the list of runs shows has changed."""
        with self._lock:
            self.revision += 1

    def close(self) -> None:
        """Stop reading and remove the copies of dropped files."""
        for _ in range(server_facts().captures_at_once):
            self._waiting.put(None)
        for entry in self.entries():
            entry.removed = True
            if entry.uploaded:
                self._forget_upload(entry)

    def is_reading(self) -> bool:
        """Whether a capture is being read now, or waits for it."""
        return any(entry.state == READING for entry in self.entries())

    def _read_in_turn(self) -> None:
        while (entry := self._waiting.get()) is not None:
            self._read(entry)
            freed_memory.give_back()

    def _read(self, entry: Entry) -> None:
        if entry.removed:
            return

        def progress(done: int, total: int) -> None:
            if entry.removed:
                raise NoAnswerError("reading_cancelled", name=entry.name)
            entry.done_bytes, entry.total_bytes = done, total
            self.revision += 1

        try:
            settings = self.settings
            run = load(
                entry.path,
                window=entry.window,
                source=settings.form,
                store=settings.store,
                progress=progress,
                within=(*settings.roots, settings.uploads.resolve()),
            )
            view = TimelineView(run.store, self._columns)
            facts = self._describe(run, view)
        except StepscopeError as error:
            self._failed(entry, error)
            return
        except BaseException as error:  # this thread serves all captures, so nothing may end it
            self._failed(entry, internal(error))
            return
        with self._lock:
            entry.run, entry.view, entry.facts, entry.state = run, view, facts, READY
            entry.window = run.window
            self._add_other_windows(entry, run)
            self.revision += 1
        _warm_up(view)

    def _failed(self, entry: Entry, error: StepscopeError) -> None:
        with self._lock:
            entry.state, entry.error = FAILED, error
            self.revision += 1

    def _add_other_windows(self, entry: Entry, run: Run) -> None:
        """The other windows of a directory wait until somebody asks for them, the newest first."""
        known = {each.window for each in self._entries.values() if each.path == entry.path}
        for window in reversed(run.windows):
            if window not in known:
                other = Entry(run_id(entry.path, window), entry.path, window, entry.uploaded)
                self._entries[other.id] = other

    def _forget_upload(self, entry: Entry) -> None:
        if entry.path.is_relative_to(self.settings.uploads.resolve()):
            shutil.rmtree(entry.path.parent, ignore_errors=True)
            with contextlib.suppress(StepscopeError, OSError):
                shutil.rmtree(directory_of(entry.path, entry.name, self.settings.store).parent, ignore_errors=True)


def _warm_up(view: TimelineView) -> None:
    """Read what the first page will ask for, while it still loads; whoever asks is told what is wrong with it."""
    try:
        for rank in view.ranks(None):
            view.columns(rank)
            view.links(rank)
            view.lanes(rank)
    except BaseException as error:
        if not (isinstance(error, Exception) or is_panic(error)):
            raise


def run_id(path: Path, window: str | None) -> str:
    """Stable, so that an address with it is still good after a restart."""
    return hashlib.sha256(f"{path}\n{window or ''}".encode(errors="surrogateescape")).hexdigest()[:12]
