"""What happens between two steps, by what was done during the one and is to be done during the next."""

from __future__ import annotations

from stepscope.profiler.settings.schedule import ProfilerAction

NONE, WARM_UP, RECORD, SAVE = ProfilerAction

#: Stands for the end of the profile as the second state.
EXIT = None

#: Names of methods of the profile, in the order in which they are called.
_END = ("stop_window", "finalize", "hand_over", "announce")

ACTIONS: dict[tuple[ProfilerAction, ProfilerAction | None], tuple[str, ...]] = {
    (NONE, NONE): (),
    (NONE, WARM_UP): ("prepare",),
    (NONE, RECORD): ("prepare", "start_window"),
    (NONE, SAVE): ("prepare", "start_window"),
    (WARM_UP, NONE): ("warn_nothing_recorded", "drop"),
    (WARM_UP, WARM_UP): (),
    (WARM_UP, RECORD): ("start_window",),
    (WARM_UP, SAVE): ("start_window",),
    (RECORD, NONE): ("warn_cut_short", "stop_window", "finalize", "announce"),
    (RECORD, WARM_UP): ("warn_cut_short", "stop_window", "finalize", "announce", "prepare"),
    (RECORD, RECORD): (),
    (RECORD, SAVE): (),
    (SAVE, NONE): _END,
    (SAVE, WARM_UP): (*_END, "prepare"),
    (SAVE, RECORD): (*_END, "prepare", "start_window"),
    (SAVE, SAVE): (*_END, "prepare", "start_window"),
    (NONE, EXIT): ("warn_never_began",),
    (WARM_UP, EXIT): ("warn_nothing_recorded", "drop"),
    (RECORD, EXIT): ("end_early", *_END),
    (SAVE, EXIT): ("end_early", *_END),
}
