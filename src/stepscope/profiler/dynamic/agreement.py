"""The leader of a host's ranks turns a request into a window that begins at a step which no rank has begun yet."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from stepscope.profiler.dynamic.board import Board
from stepscope.profiler.dynamic.config import Request
from stepscope.profiler.foundation.messages import tell, warn

_ATTEMPTS = 6


@dataclass(frozen=True)
class AgreedWindow:
    """Steps to record, both ends included, counted from 1 as the documents do."""

    number: int
    start: int
    stop: int
    parameters: dict[str, Any] = field(default_factory=dict)
    analyse: bool = False
    in_background: bool = False
    output: str = ""
    #: Which request it is for, and when it was agreed; the same window whatever they say.
    mark: str = field(default="", compare=False)
    agreed_ns: int = field(default=0, compare=False)


@dataclass
class Agreement:
    """What stands on the board: the request that was handled last, what came of it, and the windows."""

    handled: list[Any] = field(default_factory=list)
    mark: str = ""
    outcome: str = "idle"  # idle, agreed, missed, rejected
    last: int = 0
    windows: list[AgreedWindow] = field(default_factory=list)

    @classmethod
    def read(cls, board: Board) -> Agreement:
        """The agreement as it stands; an empty one before there is any."""
        content = board.read()
        return cls.of(content) if content else cls()

    @classmethod
    def of(cls, content: dict[str, Any]) -> Agreement:
        """The agreement that a board's content is."""
        return cls(**{**content, "windows": [AgreedWindow(**one) for one in content["windows"]]})

    def write(self, board: Board) -> None:
        """Tell all ranks."""
        board.write(asdict(self))


def settle(board: Board, request: Request, at: int | None = None) -> Agreement:
    """Handle a request as the leader; ``at`` is the step that this rank begins right after, where it is known."""
    agreed = Agreement.read(board)
    if request.identity == agreed.handled:
        return _amend(board, agreed, request, at)
    agreed.handled, agreed.mark = request.identity, request.mark
    if not request.problem:
        agreed.windows = _ended_early(board, agreed.windows, at)
    if request.problem:
        agreed.outcome = "rejected"
        warn("dynamic_rejected", reason=request.problem)
    elif request.start is None and request.next_steps is None:
        agreed.outcome = "idle"
    else:
        return _agree(board, agreed, request, at)
    agreed.write(board)
    return agreed


def _ended_early(board: Board, windows: list[AgreedWindow], at: int | None) -> list[AgreedWindow]:
    """The windows that a rank has begun, which end here: with the step under way, or, for several ranks, the next."""
    places = board.places()
    begun = _furthest(board, at)
    slowest = min((entry.step for entry in places), default=0)
    end = begun + (len(places) > 1)
    return [
        replace(one, stop=max(one.start, min(one.stop, end)))
        for one in windows
        if one.start <= begun and one.stop >= slowest
    ]


def _amend(board: Board, agreed: Agreement, request: Request, at: int | None) -> Agreement:
    """The same steps with other switches: they count where nobody has begun."""
    waiting = [one for one in agreed.windows if one.number == agreed.last and one.start > _furthest(board, at) + 2]
    for window in waiting:
        amended = _window(window.number, window.start, window.stop, request)
        if amended != window:
            agreed.windows = [amended if one is window else one for one in agreed.windows]
            agreed.write(board)
    return agreed


def _window(number: int, start: int, stop: int, request: Request) -> AgreedWindow:
    return AgreedWindow(
        number,
        start,
        stop,
        request.parameters,
        request.analyse,
        request.in_background,
        request.output,
        mark=request.mark,
        agreed_ns=time.time_ns(),
    )


def _agree(board: Board, agreed: Agreement, request: Request, at: int | None) -> Agreement:
    """Write a window, then look whether a rank ran past its start meanwhile; if so, take a later one."""
    kept = agreed.windows
    margin = 1
    if len(board.places()) > 1 and (request.start or 0) <= _furthest(board, at):
        margin = 2  # ranks are on their way
    for _ in range(_ATTEMPTS):
        first = max([_furthest(board, at) + margin, *(one.stop + 1 for one in kept)])
        start = first if request.start is None else max(first, request.start)
        stop = start + (request.next_steps or 1) - 1 if request.stop is None else request.stop
        if start > stop:
            agreed.windows, agreed.outcome = kept, "missed"
            agreed.write(board)
            warn("dynamic_missed", start=request.start, stop=stop, now=first)
            return agreed
        agreed.last += 1
        agreed.windows = [*kept, _window(agreed.last, start, stop, request)]
        agreed.outcome = "agreed"
        agreed.write(board)
        if _furthest(board, at) < start:
            tell("dynamic_agreed", start=start, stop=stop)
            return agreed
        margin *= 4
    agreed.windows, agreed.outcome = kept, "missed"
    agreed.write(board)
    warn("dynamic_missed", start=request.start or "?", stop=request.stop or "?", now=_furthest(board, at))
    return agreed


def _furthest(board: Board, at: int | None) -> int:
    """The latest step that any rank has begun. A rank that asks at its own boundary has not begun ``at`` yet."""
    return max(
        (at - 1 if at is not None and board.is_mine(entry) else entry.step for entry in board.places()), default=0
    )
