"""When collectives that a thread beside the training loop carries out let the loop go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from stepscope.analysis.foundation.host_activity import Host
from stepscope.analysis.foundation.intervals import Intervals
from stepscope.arrays import Int64s
from stepscope.facts.critical_path import critical_path_facts


def done_at(host: Host, rows: Int64s, busy: Mapping[int, Intervals], primary: Sequence[int]) -> Int64s:
    """For each collective, given by its row, its end, or just before a thread went on that had waited for it.

    The thread of a collective wakes those that wait for it before it writes down that it has ended, and with more
    threads than cores they go on before it does.
    """
    done = host.end[rows].copy()
    ends = np.sort(done)
    for number, row in enumerate(rows.tolist()):
        start, end = int(host.start[row]), int(host.end[row])
        for thread in primary:
            if thread in busy and thread != host.thread[row]:
                done[number] = min(done[number], _went_on(busy[thread], start, end, ends))
    return done


def _went_on(busy: Intervals, start: int, end: int, ends: Int64s) -> int:
    """Just before a thread went on that had waited for a call, else the end of the call.

    ``ends`` are those of all calls, in order: where one of another call came closer before that moment than this one's
    behind it, the thread had waited for that other call.
    """
    limits = critical_path_facts().inference
    low, high = np.searchsorted(busy.start, [start, end], side="right").tolist()
    low = max(low, 1)  # before its first stretch a thread need not have existed
    if low >= high:
        return end
    waited = busy.start[low:high] - np.maximum(busy.end[low - 1 : high - 1], start)
    longest = int(np.argmax(waited))
    resumed, pause = int(busy.start[low + longest]), int(waited[longest])
    had_waited = pause >= limits.least_awaited_share * (end - start)
    others = int(np.searchsorted(ends, resumed, side="right"))
    closest = int(ends[others - 1]) if others else start
    for_another = start < closest and resumed - closest < end - resumed
    late = had_waited and not for_another and end - resumed <= limits.most_late_end_share * pause
    return resumed - 1 if late else end
