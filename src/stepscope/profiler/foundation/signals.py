"""Signals as the interpreter itself knows them.

The functions of ``signal`` turn each number into an enumeration, and lose a ``ValueError`` that a handler of the job's
raises meanwhile.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
from typing import Any, Final

SIG_DFL: Final[Any] = _signal.SIG_DFL
get_handler = _signal.getsignal
set_handler = _signal.signal
valid_signals = _signal.valid_signals
#: Not on every system.
change_mask: Final[Any] = getattr(_signal, "pthread_sigmask", None)
