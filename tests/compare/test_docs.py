"""Every field of a comparison is in its documentation."""

from __future__ import annotations

from pathlib import Path

import msgspec

from stepscope.compare.comparison import Comparison
from stepscope.diagnosis.finding import Bilingual
from stepscope.questions.units import structures


def test_every_field_of_the_document_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "compare.md").read_text("utf-8")
    fields = {
        field.name
        for structure in structures(Comparison)
        if structure is not Bilingual
        for field in msgspec.structs.fields(structure)
    }
    assert [name for name in sorted(fields - {"code"}) if f"`{name}`" not in page] == []
