"""The enumerations of ``mindspore.profiler``, with its values, and how a user's value is understood."""

from __future__ import annotations

from enum import Enum
from typing import Any, TypeVar

EnumType = TypeVar("EnumType", bound=Enum)


class ProfilerLevel(Enum):
    """How much is recorded."""

    LevelNone = "LevelNone"
    Level0 = "Level0"
    Level1 = "Level1"
    Level2 = "Level2"


class ProfilerActivity(Enum):
    """What is recorded; NPU and GPU both mean the accelerator of the job."""

    NPU = "NPU"
    GPU = "GPU"
    CPU = "CPU"


#: PyTorch's names of the accelerator.
_OTHER_WORDS = {"cuda": "gpu", "xpu": "gpu", "privateuse1": "npu"}


class AicoreMetrics(Enum):
    """Counters of an Ascend AI Core."""

    PipeUtilization = "PipeUtilization"
    ArithmeticUtilization = "ArithmeticUtilization"
    Memory = "Memory"
    MemoryL0 = "MemoryL0"
    MemoryUB = "MemoryUB"
    ResourceConflictRatio = "ResourceConflictRatio"
    L2Cache = "L2Cache"
    MemoryAccess = "MemoryAccess"
    AiCoreNone = "None"


class ExportType(Enum):
    """Form of the parsed files."""

    Db = "db"
    Text = "text"


class HostSystem(Enum):
    """What of the host is watched."""

    CPU = "cpu"
    MEM = "mem"
    DISK = "disk"
    NETWORK = "network"
    OSRT = "osrt"


def member(kind: type[EnumType], value: Any) -> EnumType | None:
    """The member that a value means: a member (also of a framework's own enumeration), its value or its name.

    >>> member(AicoreMetrics, "AicoreNone"), member(ProfilerLevel, "level1"), member(ExportType, 7)
    (<AicoreMetrics.AiCoreNone: 'None'>, <ProfilerLevel.Level1: 'Level1'>, None)
    """
    if isinstance(value, kind):
        return value
    if isinstance(value, Enum) and type(value).__name__ == kind.__name__:
        value = value.value
    elif type(value).__name__ == kind.__name__:  # PyTorch's are of another kind
        value = getattr(value, "name", None)
    if not isinstance(value, str):
        return None
    word = value.lower()
    if kind is ProfilerActivity:
        word = _OTHER_WORDS.get(word, word)
    return next((each for each in kind if word in (str(each.value).lower(), each.name.lower())), None)
