"""Words of the page itself, in both languages."""

from __future__ import annotations

from typing import Final

from stepscope.diagnosis.finding import Bilingual
from stepscope.report.html.sections import Words
from stepscope.version import __version__

_LABELS: Final = (
    "advice",
    "allocated",
    "capacity",
    "communication",
    "computing",
    "contents",
    "copy",
    "from_start",
    "held",
    "hint",
    "left_out",
    "others",
    "print",
    "proof",
    "reserved",
    "step",
    "theme",
    "whole",
    "zoom_in",
    "zoom_out",
)


def labels() -> dict[str, Words]:
    """All words that the page's script uses; it fills in the places in them."""
    places = {name: f"{{{name}}}" for name in ("place", "time")}
    return {name: Bilingual.of(f"report_label.{name}", **places) for name in _LABELS}


def made_with() -> Bilingual:
    """Who made the file."""
    return Bilingual.of("report_page.made_with", version=__version__)
