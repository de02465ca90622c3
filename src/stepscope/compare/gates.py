"""Conditions for CI: ``slower:5%``, ``memory:+2GiB``, ``finding:critical``, ``new-finding``.

What cannot be compared fails every gate: silence would read as success.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from stepscope.compare.comparison import Comparison, Gate
from stepscope.diagnosis.finding import ACCUSING, Bilingual, Finding
from stepscope.errors import UsageError
from stepscope.texts.numbers import byte_size, duration, percent

_SLOWER: Final = re.compile(r"slower:(\d+(?:\.\d+)?)%")
_MEMORY: Final = re.compile(r"memory:\+(\d+(?:\.\d+)?)(B|KiB|MiB|GiB|TiB)")
_FINDING: Final = re.compile(r"finding:(critical|warning|info)")
_UNITS: Final = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_SEVERITIES: Final = ("critical", "warning", "info")

Check = Callable[[Comparison, Sequence[Finding]], tuple[bool, Bilingual]]


def checked_gates(gates: list[str]) -> list[tuple[str, Check]]:
    """Each gate with its check; an error for one that nobody knows, before anything is read."""
    return [(gate, _check(gate)) for gate in gates]


def passed_through(comparison: Comparison, findings: Sequence[Finding], gates: list[tuple[str, Check]]) -> list[Gate]:
    """What each gate says of a comparison and of all findings of its second side."""
    if comparison.verdict.word == "not_comparable":
        reason = comparison.verdict.reasons[0].sentence
        return [Gate(gate, True, Bilingual.of("compare_gate.not_comparable", reason=reason)) for gate, _ in gates]
    return [Gate(gate, *check(comparison, findings)) for gate, check in gates]


def _check(gate: str) -> Check:
    if match := _SLOWER.fullmatch(gate):
        limit = float(match[1]) / 100
        return lambda comparison, _: _slower(comparison, limit)
    if match := _MEMORY.fullmatch(gate):
        most = round(float(match[1]) * _UNITS[match[2]])
        return lambda comparison, _: _memory(comparison, most)
    if match := _FINDING.fullmatch(gate):
        severities = _SEVERITIES[: _SEVERITIES.index(match[1]) + 1]
        return lambda _, findings: _titles([each.title for each in findings if each.severity in severities])
    if gate == "new-finding":
        return lambda comparison, _: _titles(_new(comparison))
    raise UsageError("no_such_gate", gate=gate)


def _slower(comparison: Comparison, limit: float) -> tuple[bool, Bilingual]:
    verdict = comparison.verdict
    failed = verdict.word == "slower" and verdict.delta_share > limit
    values = {
        "share": percent(abs(verdict.delta_share)),
        "limit": percent(limit),
        "delta": duration(abs(verdict.delta_us)),
    }
    return failed, Bilingual.of(f"compare_gate.{'too_slow' if failed else 'not_slower'}", **values)


def _memory(comparison: Comparison, most: int) -> tuple[bool, Bilingual]:
    if comparison.memory is None:
        return True, Bilingual.of("compare_gate.no_memory")
    more = comparison.memory.delta_bytes
    failed = more > most
    values = {"more": byte_size(max(more, 0)), "limit": byte_size(most)}
    return failed, Bilingual.of(f"compare_gate.{'more_memory' if failed else 'memory_held'}", **values)


def _new(comparison: Comparison) -> list[Bilingual]:
    return [each.title for each in comparison.findings if each.change == "came" and each.b_severity in ACCUSING]


def _titles(titles: list[Bilingual]) -> tuple[bool, Bilingual]:
    if not titles:
        return False, Bilingual.of("compare_gate.no_finding")
    return True, Bilingual.of("compare_gate.finding", title=titles[0], count=len(titles))
