"""Types that several threads meet for the first time, all at once."""

from __future__ import annotations

import subprocess
import sys

from support.limits import HANGS_AFTER_S

_THREADS_AT_ONCE = """
import sys, threading
from dataclasses import make_dataclass
from stepscope.typed import typed

sys.setswitchinterval(1e-6)
parts = {f"part{n}": {f"field{n}": n for n in range(6)} for n in range(6)}
for _ in range(40):
    kinds = [(name, make_dataclass(name, [(field, int) for field in fields])) for name, fields in parts.items()]
    whole = make_dataclass("whole", kinds)
    together = threading.Barrier(4)

    def convert():
        together.wait()
        assert typed(parts, whole).part5.field3 == 3

    threads = [threading.Thread(target=convert) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def test_threads_may_meet_a_type_at_the_same_time() -> None:
    # In a process of its own, since it is the process that would end.
    done = subprocess.run(
        [sys.executable, "-c", _THREADS_AT_ONCE], check=True, capture_output=True, text=True, timeout=HANGS_AFTER_S
    )
    assert done.stderr == "", "a thread failed"
