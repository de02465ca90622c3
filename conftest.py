"""What the examples of the Python API find: a folder ``traces`` with a small capture of two ranks, an empty cache."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

#: Names of the examples that open it; all others need no files.
_OPEN_TRACES: Final = ("stepscope.run.Run", "stepscope.questions.methods.")


@pytest.fixture(autouse=True)
def traces_of_examples(request: pytest.FixtureRequest) -> None:
    """Examples run in a folder of their own, where a user would have captures."""
    if not request.node.name.startswith(_OPEN_TRACES):
        return
    from support.mini_trace import write_capture

    folder: Path = request.getfixturevalue("tmp_path")
    patch: pytest.MonkeyPatch = request.getfixturevalue("monkeypatch")
    write_capture(folder / "traces", [0, 1], steps=4)
    patch.chdir(folder)
    patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
