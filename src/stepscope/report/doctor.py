"""An examination of the machine at a terminal, and as JSON."""

from __future__ import annotations

import sys
from typing import Final

import msgspec
from rich.cells import cell_len
from rich.text import Text

from stepscope.doctor.check import Examination, Sentence
from stepscope.report.tables import wide_console
from stepscope.texts import in_language, text

_STYLES: Final = {"ok": "green", "warning": "bold yellow", "problem": "bold red", "absent": "dim"}
_STATE_WIDTH: Final = 8
_SECTIONS: Final = ("versions", "accelerators", "resources")


def show(examination: Examination, lang: str) -> None:
    """Each check on a line, remedies under it; then what can be recorded."""
    console = wide_console()
    for section in _SECTIONS:
        console.print(Text(text(f"doctor_section.{section}", lang), style="bold"))
        for check in (each for each in examination.checks if each.section == section):
            state = text(f"doctor_state.{check.state}", lang)
            line = Text.assemble(
                "  ", (_padded(state), _STYLES[check.state]), f" {text(f'doctor_check.{check.name}', lang)}"
            )
            console.print(line.append(f"  {check.value}" if check.value else ""), soft_wrap=True)
            _remedy(check.remedy, lang)
    console.print(Text(text("doctor_section.recordable", lang), style="bold"))
    for way in examination.recordable:
        state = "ok" if way.possible else "absent"
        words = text(f"doctor_record.{'yes' if way.possible else 'no'}", lang)
        line = Text.assemble("  ", (_padded(words), _STYLES[state]), f" {text(f'doctor_way.{way.name}', lang)}")
        console.print(line, soft_wrap=True)
        _remedy(way.needs, lang)


def _padded(word: str) -> str:
    return word + " " * (_STATE_WIDTH - cell_len(word))


def _remedy(sentence: Sentence | None, lang: str) -> None:
    if sentence is not None:
        wide_console().print(Text(f"      → {in_language(sentence, lang)}"), soft_wrap=True)


def write_json(examination: Examination) -> None:
    """One document, as every command prints it."""
    document = {"schema": "stepscope.doctor/1", "data": examination}
    sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
    sys.stdout.buffer.flush()
