"""What threads of the profiler wait for."""

from __future__ import annotations

import threading

import pytest

from stepscope.profiler.foundation.flag import Flag
from support.limits import HANGS_AFTER_S


def test_setting_it_wakes_all_that_wait() -> None:
    flag, woken = Flag(), []
    threads = [threading.Thread(target=lambda: woken.append(flag.wait(HANGS_AFTER_S))) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert not flag.wait(0.01)
    flag.set()
    flag.set()
    for thread in threads:
        thread.join()
    assert woken == [True, True, True]
    assert flag.is_set()
    assert flag.wait(0)


def test_one_whose_setting_was_interrupted_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted:
        """A lock whose release an alarm of the job's comes in front of."""

        def acquire(self, timeout: float = -1) -> bool:
            del timeout
            return False

        def release(self) -> None:
            raise KeyboardInterrupt

    flag = Flag()
    monkeypatch.setattr(flag, "_until_set", Interrupted())
    with pytest.raises(KeyboardInterrupt):
        flag.set()
    assert flag.wait(0.01)
