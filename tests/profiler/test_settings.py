"""Parameters: what cannot be used is named in one warning and replaced."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Any

import pytest

from stepscope.profiler import (
    AicoreMetrics,
    ExperimentalConfig,
    ExportType,
    HostSystem,
    ProfilerActivity,
    ProfilerLevel,
    _ExperimentalConfig,
    schedule,
)
from stepscope.profiler.settings.profile_settings import checked

CPU, NPU, GPU = ProfilerActivity.CPU, ProfilerActivity.NPU, ProfilerActivity.GPU


def test_defaults_are_the_documented_ones(said: list[str]) -> None:
    switches = checked().switches()
    assert switches.pop("schedule") is None
    assert switches == {
        "activities": ["CPU", "NPU"],
        "with_stack": False,
        "profile_memory": False,
        "data_process": False,
        "parallel_strategy": False,
        "start_profile": True,
        "hbm_ddr": False,
        "pcie": False,
        "sync_enable": True,
        "record_shapes": False,
        "output_path": "./data",
        "profiler_level": "Level0",
        "aic_metrics": "None",
        "l2_cache": False,
        "mstx": False,
        "data_simplification": True,
        "export_type": ["text"],
        "mstx_domain_include": [],
        "mstx_domain_exclude": [],
        "sys_io": False,
        "sys_interconnection": False,
        "host_sys": [],
        "is_set_schedule": False,
    }
    assert said == []


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("with_stack", 1, False),
        ("sync_enable", "no", True),
        ("profile_memory", [], False),
        ("activities", CPU, [CPU, NPU]),
        ("activities", [CPU, "FPGA"], [CPU, NPU]),
        ("activities", [], [CPU, NPU]),
        ("schedule", 3, None),
        ("on_trace_ready", "dir", None),
        ("profiler_level", 1, ProfilerLevel.Level0),
        ("profiler_level", "Level9", ProfilerLevel.Level0),
        ("export_type", "excel", [ExportType.Text]),
        ("export_type", [ExportType.Db, 1], [ExportType.Text]),
        ("host_sys", HostSystem.CPU, []),
        ("host_sys", [HostSystem.CPU, "gpu"], []),
        ("mstx_domain_include", "one", []),
        ("mstx_domain_exclude", ["a", ""], []),
        ("output_path", 7, "./data"),
        ("output_path", "a\0b", "./data"),
        ("output_path", "x" * 300, "./data"),
    ],
)
def test_a_wrong_value_is_named_and_replaced(name: str, value: Any, expected: Any, said: list[str]) -> None:
    assert getattr(checked(**{name: value}), name) == expected
    assert len(said) == 1
    assert said[0].startswith(name)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("activities", [GPU, CPU, GPU], [GPU, CPU]),
        ("activities", ["cpu"], [CPU]),
        ("profiler_level", "Level2", ProfilerLevel.Level2),
        ("export_type", "db", [ExportType.Db]),
        ("export_type", ExportType.Db, [ExportType.Db]),
        ("export_type", [ExportType.Db, "text"], [ExportType.Db, ExportType.Text]),
        ("host_sys", ["mem"], [HostSystem.MEM]),
        ("aic_metrics", "AicoreNone", AicoreMetrics.AiCoreNone),
        ("aic_metrics", "None", AicoreMetrics.AiCoreNone),
        ("output_path", Path("a=b+c@d:e"), "a=b+c@d:e"),
    ],
)
def test_every_form_of_a_value_is_understood(name: str, value: Any, expected: Any, said: list[str]) -> None:
    assert getattr(checked(**{name: value}), name) == expected
    assert said == []


def test_members_of_the_frameworks_own_enumerations_count(said: list[str]) -> None:
    class ProfilerLevel(enum.Enum):
        Level1 = "Level1"

    assert checked(profiler_level=ProfilerLevel.Level1).profiler_level.name == "Level1"
    assert said == []


@pytest.mark.parametrize(
    ("given", "changed", "word"),
    [
        ({"profiler_level": ProfilerLevel.LevelNone}, {"profiler_level": ProfilerLevel.Level0}, "mstx"),
        ({"aic_metrics": AicoreMetrics.Memory}, {"aic_metrics": AicoreMetrics.AiCoreNone}, "Level1"),
        ({"record_shapes": True, "activities": [NPU]}, {"record_shapes": False}, "CPU"),
        ({"with_stack": True, "activities": [NPU]}, {"with_stack": False}, "CPU"),
        ({"mstx_domain_include": ["a"]}, {"mstx_domain_include": []}, "mstx=True"),
        (
            {"mstx": True, "mstx_domain_include": ["a"], "mstx_domain_exclude": ["b"]},
            {"mstx_domain_exclude": []},
            "include",
        ),
        ({"hbm_ddr": True}, {"hbm_ddr": True}, "profile_memory"),
        ({"pcie": True}, {"pcie": True}, "sys_interconnection"),
    ],
)
def test_contradictions_are_resolved_with_one_warning(
    given: dict[str, Any], changed: dict[str, Any], word: str, said: list[str]
) -> None:
    settings = checked(**given)
    assert {name: getattr(settings, name) for name in changed} == changed
    assert len(said) == 1
    assert word in said[0]


def test_marks_alone_are_a_level_of_their_own(said: list[str]) -> None:
    settings = checked(_ExperimentalConfig(profiler_level=ProfilerLevel.LevelNone, mstx=True))
    assert settings.profiler_level is ProfilerLevel.LevelNone
    assert said == []


def test_levels_with_counters_have_their_documented_default(said: list[str]) -> None:
    assert checked(profiler_level=ProfilerLevel.Level1).aic_metrics is AicoreMetrics.PipeUtilization
    assert said == []


def test_a_schedule_and_the_data_pipeline_go_together(said: list[str]) -> None:
    assert checked(schedule=schedule(wait=0, active=1), data_process=True).data_process
    assert said == []


def test_experimental_fields_can_be_read_and_set(said: list[str]) -> None:
    config = ExperimentalConfig()
    assert config.profiler_level is ProfilerLevel.Level0
    assert config.export_type == [ExportType.Text]
    config.l2_cache = True
    config.host_sys = [HostSystem.CPU]
    settings = checked(config)
    assert settings.l2_cache
    assert settings.host_sys == [HostSystem.CPU]
    assert said == []


def test_anything_else_as_experimental_config_is_ignored(said: list[str]) -> None:
    assert checked({"l2_cache": True}).l2_cache is False
    assert "experimental_config" in said[0]


def test_a_name_that_does_not_exist_is_noted(said: list[str]) -> None:
    checked(record_shape=True)
    assert "record_shape" in said[0]


def test_a_value_that_cannot_even_be_shown_does_no_harm(said: list[str]) -> None:
    class Hostile:
        def __repr__(self) -> str:
            raise RuntimeError

    assert checked(with_stack=Hostile()).with_stack is False
    assert "Hostile" in said[0]
