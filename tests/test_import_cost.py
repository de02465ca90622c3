"""What must be cheap to import does not import what is heavy. Times are left to the benchmarks."""

from __future__ import annotations

import subprocess
import sys

import pytest

_HEAVY = {"polars", "numpy", "duckdb", "pyarrow", "pandas", "torch", "mindspore"}


def _imported_by(statement: str) -> set[str]:
    script = f"import sys\n{statement}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(result.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    "statement",
    [
        "import stepscope",
        "import stepscope.cli",
        "import stepscope.errors, stepscope.texts; stepscope.texts.text('error.empty_file', path='a')",
    ],
)
def test_nothing_heavy_is_imported(statement: str) -> None:
    assert _imported_by(statement) & _HEAVY == set()


def test_help_needs_nothing_heavy() -> None:
    statement = (
        "import contextlib, io, stepscope.cli\n"
        "sys.argv = ['stepscope', 'sql', '--help']\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()) as out:\n"
        "    stepscope.cli.main()\n"
        "assert 'SELECT' in out.getvalue()"
    )
    assert _imported_by(statement) & _HEAVY == set()


def test_the_package_itself_needs_the_standard_library_only() -> None:
    before = _imported_by("pass")
    added = _imported_by("import stepscope") - before - {"stepscope"}
    assert added <= set(sys.stdlib_module_names)


def test_the_public_names_are_there_when_asked_for() -> None:
    statement = "import stepscope\nassert callable(stepscope.load) and stepscope.Run"
    assert "polars" in _imported_by(statement)
