"""``profiler_config.json``: which steps of a running job to record, and how."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stepscope.profiler.foundation.line_files import read_regular
from stepscope.profiler.foundation.messages import warn
from stepscope.profiler.foundation.own_faults import ours, suppressed
from stepscope.profiler.foundation.paths import exists, make_directory

CONFIG_FILE = "profiler_config.json"
MOST_BYTES = 1 << 20
_TICK_NS = 50_000_000
_OFF = -1

#: The documented keys, with the value that counts where one is missing.
DEFAULTS: dict[str, Any] = {
    "start_step": _OFF,
    "stop_step": _OFF,
    "aic_metrics": "AiCoreNone",
    "profiler_level": "Level0",
    "activities": ["CPU", "NPU"],
    "export_type": ["text"],
    "profile_memory": False,
    "mstx": False,
    "analyse": False,
    "analyse_mode": -1,
    "parallel_strategy": False,
    "with_stack": False,
    "data_simplification": True,
    "l2_cache": False,
    "record_shapes": False,
    "prof_path": "./",
    "mstx_domain_include": [],
    "mstx_domain_exclude": [],
    "host_sys": [],
    "sys_io": False,
    "sys_interconnection": False,
}
#: Ours beside them: so many steps from now on, and a mark that tells a request from an equal one before it.
NEXT_STEPS, REQUEST = "next_steps", "request"

#: Whole numbers that older documents use.
_NUMBERS: dict[str, dict[int, Any]] = {
    "aic_metrics": {
        -1: "AiCoreNone",
        0: "PipeUtilization",
        1: "ArithmeticUtilization",
        2: "Memory",
        3: "MemoryL0",
        4: "MemoryUB",
        5: "ResourceConflictRatio",
        6: "L2Cache",
        7: "MemoryAccess",
    },
    "profiler_level": {-1: "LevelNone", 0: "Level0", 1: "Level1", 2: "Level2"},
    "activities": {0: ["CPU", "NPU"], 1: ["CPU"], 2: ["NPU"]},
    "export_type": {0: ["text"], 1: ["db"], 2: ["text", "db"]},
}
#: Names of older documents, and a slip of a newer one.
_ALIASES = {"record_shape": "record_shapes", "aicore_metrics": "aic_metrics"}
#: Keys that tell when and where, and are no parameters of a profile.
_NOT_PARAMETERS = {"start_step", "stop_step", NEXT_STEPS, REQUEST, "analyse", "analyse_mode", "prof_path", "is_valid"}

#: Parameters of a profile that the documents do not list here.
_FURTHER_PARAMETERS = {"data_process"}


@dataclass(frozen=True)
class Request:
    """What a config asks for; ``start`` and ``next_steps`` are both None where nothing is to be recorded."""

    start: int | None = None
    stop: int | None = None
    next_steps: int | None = None
    mark: str = ""
    problem: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    analyse: bool = False
    in_background: bool = False
    output: str = ""

    @property
    def identity(self) -> list[Any]:
        """What makes it another request than the one before."""
        return [self.start, self.stop, self.next_steps, self.mark, self.problem]


class ConfigFile:
    """The file of a folder, looked at again and again, in whatever state it is."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / CONFIG_FILE
        self._seen: tuple[int, ...] | None = None
        self._complained = False

    def create(self) -> bool:
        """Write the defaults where there is no file; False if there is one."""
        if exists(self.path):
            return False
        make_directory(self.path.parent)
        draft = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        draft.write_text(json.dumps(DEFAULTS, indent=4), encoding="utf-8")
        try:
            draft.chmod(0o640)
            os.link(draft, self.path)  # unlike a rename it never replaces what another process just wrote
        except ours(FileExistsError):
            return False
        except ours(OSError):  # a file system without links
            with suppressed(FileExistsError), self.path.open("x", encoding="utf-8") as file:
                file.write(draft.read_text(encoding="utf-8"))
        finally:
            draft.unlink(missing_ok=True)
        return True

    def changed(self) -> bool:
        """Whether the file is another one than when it was last read well."""
        try:
            attributes = self.path.stat()
        except ours(OSError):
            return False
        return (attributes.st_mtime_ns, attributes.st_size, attributes.st_ino) != self._seen

    def read(self) -> dict[str, Any] | None:
        """Its content; None with one warning while it is missing, half-written or no config."""
        try:
            text, attributes = read_regular(self.path, MOST_BYTES + 1)
            content = json.loads(text)
            if not isinstance(content, dict):
                raise ValueError("not an object")
        except ours(OSError, ValueError, RecursionError) as error:
            if not self._complained:
                warn("dynamic_unreadable", path=str(self.path), reason=f"{type(error).__name__}: {error}"[:200])
            self._complained = True
            return None
        # The clock of a file system ticks coarsely: another change right after this one would look the same.
        fresh = abs(time.time_ns() - attributes.st_mtime_ns) < _TICK_NS
        self._seen = None if fresh else (attributes.st_mtime_ns, attributes.st_size, attributes.st_ino)
        self._complained = False
        return content


def understood(content: dict[str, Any]) -> Request:
    """What a config means, with the numbers and names of older documents."""
    values = {_ALIASES.get(key, key): value for key, value in content.items()}
    for key in content:
        if key in _ALIASES:
            warn("dynamic_alias", key=key, meant=_ALIASES[key])
    for key in sorted(set(values) - set(DEFAULTS) - _NOT_PARAMETERS - _FURTHER_PARAMETERS):
        warn("parameter_unknown", name=key)
    start, stop = _step(values, "start_step"), _step(values, "stop_step")
    count = values.get(NEXT_STEPS)
    asked: dict[str, Any] = {"problem": ""}
    if count is not None:
        if isinstance(count, int) and not isinstance(count, bool) and count > 0:
            asked["next_steps"] = count
        else:
            asked["problem"] = f"{NEXT_STEPS}={count!r}"
    elif (start, stop) != (_OFF, _OFF):
        if start is not None and stop is not None and 0 < start <= stop:
            asked |= {"start": start, "stop": stop}
        else:
            asked["problem"] = f"start_step={values.get('start_step')!r}, stop_step={values.get('stop_step')!r}"
    mode = values.get("analyse_mode", -1)
    output = values.get("prof_path", "./")
    return Request(
        **asked,
        mark=str(values.get(REQUEST, "")),
        parameters={
            key: _from_number(key, value)
            for key, value in values.items()
            if key not in _NOT_PARAMETERS and (key in DEFAULTS or key in _FURTHER_PARAMETERS)
        },
        # Older samples only set the mode, and mean it.
        analyse=bool(values.get("analyse", mode in (0, 1))),
        in_background=mode == 1,
        output=output if isinstance(output, str) and output not in ("", ".", "./") else "",
    )


def _step(values: dict[str, Any], key: str) -> int | None:
    value = values.get(key, _OFF)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _from_number(key: str, value: Any) -> Any:
    known = _NUMBERS.get(key, {})
    return known.get(value, value) if isinstance(value, int) and not isinstance(value, bool) else value
