"""Tables of facts and the structures that describe them."""

from __future__ import annotations

import importlib
from pathlib import Path

import msgspec
import pytest

from stepscope import facts

FOLDER = Path(facts.__file__).parent
TABLES = sorted(path.stem for path in FOLDER.glob("*.toml"))


@pytest.mark.parametrize("name", TABLES)
def test_a_table_fits_its_structure(name: str) -> None:
    """A key that the structure does not know, or one that is missing, fails here."""
    module = importlib.import_module(f"stepscope.facts.{name}")
    (read,) = [function for word, function in vars(module).items() if word.endswith("_facts")]
    assert msgspec.to_builtins(read()).keys() >= facts.table(name).keys()
