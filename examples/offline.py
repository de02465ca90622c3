"""Offline: parse what was recorded with ``analyse_flag=False``, at any time, as often as you like, on any machine.

python examples/offline.py ./data

The command ``stepscope analyse ./data`` does the same.
"""

from __future__ import annotations

import sys

from stepscope.profiler.profiler import analyse

if __name__ == "__main__":
    analyse(sys.argv[1] if len(sys.argv) > 1 else "./data")
