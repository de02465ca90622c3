"""For the examples of a question and of a rule, which tests put beside those of the package."""

from __future__ import annotations

import sys

import pytest

from stepscope import texts
from stepscope.cli import main
from support.commands import ENGLISH


def forget_texts() -> None:
    """Have the catalogue read again, from wherever its files are now."""
    for kept in (texts.entries, texts.catalogue, texts._files, texts._parsed):
        kept.cache_clear()


def printed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: object) -> str:
    """What a command prints, run in this process, which alone knows the example."""
    for name, value in ENGLISH.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "argv", ["stepscope", *map(str, words)])
    with pytest.raises(SystemExit) as left:
        main()
    written = capsys.readouterr()
    assert not left.value.code, written.err
    return written.out
