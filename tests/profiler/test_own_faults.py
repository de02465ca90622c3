"""What a signal handler of the job raises reaches the job, wherever in our code that was; faults of ours do not."""

from __future__ import annotations

import ast
import functools
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import stepscope.profiler
from stepscope.profiler.foundation.guard import attempt, guarded
from stepscope.profiler.foundation.main_thread import call_in_main_thread
from stepscope.profiler.foundation.own_faults import ours, suppressed
from stepscope.profiler.recording.own_time import OwnTime
from support.limits import HANGS_AFTER_S


class AlarmError(TimeoutError):
    """What a job's handler raises: an OSError, as many of our faults are."""


@pytest.fixture
def alarm() -> Iterator[Callable[[Any], Callable[[], None]]]:
    """Installs a handler; what is returned sends the signal, which is handled before the call returns."""
    before = signal.getsignal(signal.SIGUSR1)

    def install(handler: Any) -> Callable[[], None]:
        signal.signal(signal.SIGUSR1, handler)
        return functools.partial(signal.raise_signal, signal.SIGUSR1)

    yield install
    signal.signal(signal.SIGUSR1, before)


def _plain(number: int, frame: Any) -> None:
    raise AlarmError


def _forgetful(number: Any, frame: Any) -> None:
    del number, frame
    raise AlarmError


def _starred(*arguments: Any) -> None:
    _deeper(arguments[0])


def _deeper(number: int) -> None:
    raise AlarmError(number)


class _Callable:
    def __call__(self, number: int, frame: Any) -> None:
        raise AlarmError

    def method(self, number: int, frame: Any) -> None:
        raise AlarmError


HANDLERS = [
    _plain,
    _forgetful,
    _starred,
    lambda number, frame: _deeper(number),
    functools.partial(_plain),
    functools.partial(lambda text, number, frame: _deeper(number), "text"),
    _Callable(),
    _Callable().method,
]


@pytest.mark.parametrize("handler", HANDLERS)
def test_what_a_handler_raises_passes_the_guard(handler: Any, alarm: Any, said: list[str]) -> None:
    send = alarm(handler)
    with pytest.raises(AlarmError):
        guarded(send)()
    with pytest.raises(AlarmError):
        attempt("a thing", send)
    with pytest.raises(AlarmError), suppressed(OSError):
        send()
    assert said == []


def test_it_passes_where_a_fault_of_ours_comes_up_on_its_way(alarm: Any, said: list[str]) -> None:
    send = alarm(_plain)

    @guarded
    def work() -> None:
        try:
            send()
        finally:
            raise OSError("ours, while we cleaned up")

    with pytest.raises(AlarmError):
        work()
    assert said == []


def test_a_fault_of_ours_is_caught_although_the_job_handles_its_own(alarm: Any, said: list[str]) -> None:
    send = alarm(_plain)

    def fail() -> None:
        raise OSError("ours")

    def fail_unseen() -> bool:
        with suppressed(OSError):
            fail()
        return True

    try:
        send()
    except AlarmError:
        assert guarded(fail)() is None
        assert not attempt("a thing", fail)
        assert fail_unseen()
    assert any("ours" in text for text in said)


def test_a_fault_of_ours_inside_a_handler_of_the_jobs_is_caught(alarm: Any, said: list[str]) -> None:
    def handler(number: int, frame: Any) -> None:
        attempt("a thing", _fail, number, frame)

    alarm(handler)()
    assert len(said) == 1


def _fail(number: int, frame: Any) -> None:
    del number, frame
    raise OSError("ours")


def test_a_thread_beside_the_main_one_has_no_handlers(alarm: Any, said: list[str]) -> None:
    alarm(_plain)
    done: list[bool] = []
    thread = threading.Thread(target=lambda: done.append(attempt("a thing", _plain, 10, None)))
    thread.start()
    thread.join()
    assert done == [False]


def test_what_is_raised_in_a_call_from_another_thread_is_handed_on_as_it_is(alarm: Any) -> None:
    send = alarm(lambda number, frame: _deeper(number))
    caller = threading.Thread(target=call_in_main_thread, args=("a thing", send))
    with pytest.raises(AlarmError) as raised:
        caller.start()
        end = time.monotonic() + HANGS_AFTER_S
        while time.monotonic() < end:
            pass
    caller.join()
    assert raised.value.args == (signal.SIGUSR1,)


def test_a_method_that_a_handler_ended_is_not_waited_for() -> None:
    own_time, done = OwnTime(), []

    def interrupted() -> None:
        own_time.__enter__()  # and never left, as when an exception comes in between

    interrupted()
    assert not own_time.is_here
    own_time.when_free(lambda: done.append("now"))
    assert done == ["now"]
    with own_time:
        with own_time:
            assert own_time.is_here
        own_time.when_free(lambda: done.append("later"))
        assert done == ["now"]
    assert done == ["now", "later"]


def test_nothing_but_faults_of_ours_is_caught_anywhere_in_the_profiler() -> None:
    """Each ``except`` asks ``ours``, or raises again what it caught."""
    folder = Path(stepscope.profiler.__file__).parent
    careless = []
    for path in sorted(folder.rglob("*.py")):
        if path.name == "sitecustomize.py":  # runs before the job can have a handler
            continue
        tree = ast.parse(path.read_text())
        at_import = {id(handler) for block in tree.body if isinstance(block, ast.Try) for handler in block.handlers}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr == "suppress":
                careless.append(f"{path}:{node.lineno}")
            if isinstance(node, ast.keyword) and node.arg == "ignore_errors":
                careless.append(f"{path}:{node.value.lineno}")
            if not isinstance(node, ast.ExceptHandler) or id(node) in at_import:
                continue
            asks = isinstance(node.type, ast.Call) and getattr(node.type.func, "id", "") == ours.__name__
            is_own_kind = getattr(node.type, "id", "") == "StepscopeWarning"
            last = node.body[-1]
            raises_again = isinstance(last, ast.Raise) and last.exc is None
            hands_on = ast.unparse(last) == "_hand_on(error)"
            if not (asks or is_own_kind or raises_again or hands_on):
                careless.append(f"{path}:{node.lineno}")
    assert careless == []
