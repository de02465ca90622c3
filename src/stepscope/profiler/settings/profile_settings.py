"""The parameters of a profile, checked: what cannot be used is named in a warning and replaced, never raised."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from stepscope.profiler.foundation.messages import warn
from stepscope.profiler.foundation.own_faults import ours
from stepscope.profiler.settings.enums import (
    AicoreMetrics,
    ExportType,
    HostSystem,
    ProfilerActivity,
    ProfilerLevel,
    member,
)
from stepscope.profiler.settings.experimental import ExperimentalConfig
from stepscope.profiler.settings.schedule import Schedule

DEFAULT_OUTPUT = "./data"

_SWITCHES = (
    "with_stack",
    "profile_memory",
    "data_process",
    "parallel_strategy",
    "start_profile",
    "hbm_ddr",
    "pcie",
    "sync_enable",
    "record_shapes",
    "l2_cache",
    "mstx",
    "data_simplification",
    "sys_io",
    "sys_interconnection",
)
_REPLACED_BY = {"hbm_ddr": "profile_memory", "pcie": "sys_interconnection"}
_DOMAINS = ("mstx_domain_include", "mstx_domain_exclude")
_LONGEST_PATH, _LONGEST_NAME = 4096, 255


def _default_activities() -> list[ProfilerActivity]:
    return [ProfilerActivity.CPU, ProfilerActivity.NPU]


@dataclass
class Settings:
    """All parameters, under their documented names; :func:`checked` makes one from a user's values."""

    activities: list[ProfilerActivity] = field(default_factory=_default_activities)
    with_stack: bool = False
    profile_memory: bool = False
    data_process: bool = False
    parallel_strategy: bool = False
    start_profile: bool = True
    hbm_ddr: bool = False
    pcie: bool = False
    sync_enable: bool = True
    record_shapes: bool = False
    schedule: Callable[[int], Any] | None = None
    on_trace_ready: Callable[[Any], Any] | None = None
    output_path: str = DEFAULT_OUTPUT
    profiler_level: ProfilerLevel = ProfilerLevel.Level0
    aic_metrics: AicoreMetrics = AicoreMetrics.AiCoreNone
    l2_cache: bool = False
    mstx: bool = False
    data_simplification: bool = True
    export_type: list[ExportType] = field(default_factory=lambda: [ExportType.Text])
    mstx_domain_include: list[str] = field(default_factory=list)
    mstx_domain_exclude: list[str] = field(default_factory=list)
    sys_io: bool = False
    sys_interconnection: bool = False
    host_sys: list[HostSystem] = field(default_factory=list)

    @property
    def on_host(self) -> bool:
        return ProfilerActivity.CPU in self.activities

    @property
    def on_device(self) -> bool:
        return ProfilerActivity.NPU in self.activities or ProfilerActivity.GPU in self.activities

    def switches(self) -> dict[str, Any]:
        """All settings that can be written as JSON: enumerations by value, the schedule by its numbers."""
        plain = {name: _plain(value) for name, value in vars(self).items() if not callable(value)}
        plain.pop("on_trace_ready", None)
        plain["schedule"] = self.schedule.to_dict() if isinstance(self.schedule, Schedule) else None
        plain["is_set_schedule"] = self.schedule is not None
        return plain


def checked(experimental_config: Any = None, **given: Any) -> Settings:
    """Settings from a user's values; unknown names and unusable values are named in warnings."""
    values = _experimental(experimental_config)
    values.update({name: value for name, value in given.items() if value is not None})
    settings = Settings()
    for name, value in values.items():
        if name in _SWITCHES:
            setattr(settings, name, _switch(name, value, getattr(settings, name)))
        elif name in _CHECKS:
            setattr(settings, name, _CHECKS[name](name, value, getattr(settings, name)))
        else:
            warn("parameter_unknown", name=name)
    _agree(settings)
    return settings


def _experimental(config: Any) -> dict[str, Any]:
    if config is None:
        return {}
    if isinstance(config, ExperimentalConfig):
        return {name: value for name, value in config.values().items() if value is not None}
    if type(config).__name__.lstrip("_") == "ExperimentalConfig" and hasattr(config, "profiler_level"):
        # MindSpore's own class: the script changed one import only.
        names = ExperimentalConfig().values()
        return {name: getattr(config, name) for name in names if getattr(config, name, None) is not None}
    warn("parameter_ignored", name="experimental_config", value=_shown(config), expected="_ExperimentalConfig")
    return {}


def _agree(settings: Settings) -> None:
    """Parameters that contradict each other: the documented one gives way."""
    if settings.profiler_level is ProfilerLevel.LevelNone and not settings.mstx:
        _give_way(settings, "profiler_level", ProfilerLevel.Level0, "LevelNone", "mstx=True")
    shallow = settings.profiler_level in (ProfilerLevel.LevelNone, ProfilerLevel.Level0)
    if shallow and settings.aic_metrics is not AicoreMetrics.AiCoreNone:
        needed = "profiler_level=ProfilerLevel.Level1"
        _give_way(settings, "aic_metrics", AicoreMetrics.AiCoreNone, settings.aic_metrics.name, needed)
    elif not shallow and settings.aic_metrics is AicoreMetrics.AiCoreNone:
        settings.aic_metrics = AicoreMetrics.PipeUtilization  # the documented default of these levels
    for name in ("record_shapes", "with_stack"):
        if getattr(settings, name) and not settings.on_host:
            _give_way(settings, name, False, "True", "ProfilerActivity.CPU")
    if not settings.mstx:
        for name in _DOMAINS:
            if getattr(settings, name):
                _give_way(settings, name, [], getattr(settings, name), "mstx=True")
    elif settings.mstx_domain_include and settings.mstx_domain_exclude:
        warn("domains_both")
        settings.mstx_domain_exclude = []
    for name, better in _REPLACED_BY.items():
        if getattr(settings, name):
            warn("parameter_deprecated", name=name, better=better)


def _give_way(settings: Settings, name: str, fallback: Any, value: Any, needed: str) -> None:
    warn("parameter_needs", name=name, value=str(value), needed=needed, fallback=str(_plain(fallback)))
    setattr(settings, name, fallback)


def _reset(name: str, value: Any, expected: str, fallback: Any) -> Any:
    warn("parameter_reset", name=name, value=_shown(value), expected=expected, fallback=str(_plain(fallback)))
    return fallback


def _switch(name: str, value: Any, fallback: bool) -> bool:
    return value if isinstance(value, bool) else bool(_reset(name, value, "bool", fallback))


def _member_of(kind: type[Enum]) -> Callable[[str, Any, Any], Any]:
    def check(name: str, value: Any, fallback: Any) -> Any:
        chosen = member(kind, value)
        return _reset(name, value, kind.__name__, fallback) if chosen is None else chosen

    return check


def _members_of(kind: type[Enum], single: bool = False) -> Callable[[str, Any, Any], Any]:
    """A list of members, in the user's order; ``single`` also takes one member that is not in a list."""

    def check(name: str, value: Any, fallback: Any) -> Any:
        wanted = value if isinstance(value, (list, tuple, set)) else [value] if single else [None]
        chosen = [member(kind, item) for item in wanted]
        if None in chosen or (not chosen and fallback):
            return _reset(name, value, f"list[{kind.__name__}]", fallback)
        return list(dict.fromkeys(chosen))

    return check


def _words(name: str, value: Any, fallback: list[str]) -> Any:
    good = isinstance(value, (list, tuple)) and all(isinstance(item, str) and item for item in value)
    return list(value) if good else _reset(name, value, "list[str]", fallback)


def _callable(name: str, value: Any, fallback: Any) -> Any:
    return value if callable(value) else _reset(name, value, "callable", fallback)


def usable_path(name: str, value: Any, fallback: str = DEFAULT_OUTPUT) -> str:
    """A directory's path, else the fallback with a warning."""
    text = os.fspath(value) if isinstance(value, os.PathLike) else value
    good = isinstance(text, str) and text and "\0" not in text and len(text) <= _LONGEST_PATH
    if good and all(len(os.fsencode(part)) <= _LONGEST_NAME for part in Path(text).parts):
        return str(text)
    return str(_reset(name, value, "path", fallback))


_CHECKS: dict[str, Callable[[str, Any, Any], Any]] = {
    "activities": _members_of(ProfilerActivity),
    "schedule": _callable,
    "on_trace_ready": _callable,
    "output_path": usable_path,
    "profiler_level": _member_of(ProfilerLevel),
    "aic_metrics": _member_of(AicoreMetrics),
    "export_type": _members_of(ExportType, single=True),
    "host_sys": _members_of(HostSystem),
    "mstx_domain_include": _words,
    "mstx_domain_exclude": _words,
}


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _shown(value: Any) -> str:
    try:
        return repr(value)[:200]
    except ours(Exception):
        return type(value).__name__
