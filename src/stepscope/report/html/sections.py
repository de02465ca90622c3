"""What a page of a report is made of. Its script knows these sections and nothing of what they speak about."""

from __future__ import annotations

from typing import Literal

import msgspec

from stepscope.diagnosis.finding import Bilingual
from stepscope.diagnosis.pictures.memory import MemoryPicture
from stepscope.diagnosis.pictures.proofs import ProofPicture

#: Same in both languages, or not.
Words = str | Bilingual
Tone = Literal["critical", "warning", "info", "good"]


class BarPart(msgspec.Struct, frozen=True):
    """``part`` chooses the colour; ``width`` is of the longest bar."""

    part: str
    label: Words
    text: str
    width: float


class Bar(msgspec.Struct, frozen=True):
    label: Words
    text: Words
    parts: list[BarPart]


class Bars(msgspec.Struct, frozen=True, tag="bars", kw_only=True):
    """Stacked bars, all on one scale."""

    id: str
    title: Words
    bars: list[Bar]
    after: list[Words] = []


class Column(msgspec.Struct, frozen=True):
    label: Words
    number: bool


class Table(msgspec.Struct, frozen=True, tag="table", kw_only=True):
    id: str
    title: Words
    columns: list[Column]
    rows: list[list[Words]]
    after: list[Words] = []


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """One finding; ``number`` is its anchor."""

    number: int
    tone: Tone
    severity: Words
    title: Words
    facts: list[Words]
    evidence: list[Words]
    advice: Words
    next: Words | None
    pictures: list[ProofPicture]
    curves: list[MemoryPicture]


class Cards(msgspec.Struct, frozen=True, tag="cards", kw_only=True):
    id: str
    title: Words
    cards: list[Card]


class Lines(msgspec.Struct, frozen=True, tag="lines", kw_only=True):
    id: str
    title: Words
    lines: list[Words]


Section = Bars | Table | Cards | Lines


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A whole report; ``labels`` are the script's own words."""

    lang: str
    title: Words
    about: list[Words]
    tone: Tone
    verdict: Words
    more_verdict: list[Words]
    sections: list[Section]
    labels: dict[str, Words]
    made_with: Words
