"""``stepscope profiler-zip``: the profiler alone, as one file for a training machine."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Annotated, Final

import typer

from stepscope.cli.options import Json, Language, language
from stepscope.cli.written import tell_written

#: What the profiler needs of the package.
_PARTS: Final = ("__init__.py", "version.py", "layout", "profiler")
#: Python runs it as it starts, where the zip is on PYTHONPATH: no import in the script is needed.
_START_UP: Final = Path("profiler/starting/bootstrap/sitecustomize.py")
_MOMENT: Final = (2020, 1, 1, 0, 0, 0)  # the same sources give the same file


def profiler_zip(
    file: Annotated[Path, typer.Argument(metavar="FILE", show_default=False)],
    json: Json = False,
    lang: Language = None,
) -> None:
    """Pack the profiler into one zip file for PYTHONPATH: Python 3.9 or newer, nothing to install."""
    from stepscope.errors import UsageError
    from stepscope.texts import text

    del lang
    try:
        write_zip(file)
    except OSError as error:
        raise UsageError("cannot_write_zip", file=str(file), reason=error.strerror or str(error)) from error
    if json:
        tell_written("profiler-zip", [file], json)
    else:
        typer.echo(text("report.zip_written", language(), file=file, name=file.name))


def write_zip(file: Path) -> None:
    """The profiler's files, in order, so that the zip is the same each time."""
    package = Path(__file__).parents[1]
    chosen = [
        path
        for part in _PARTS
        for path in ([package / part] if (package / part).is_file() else sorted((package / part).rglob("*")))
        if path.is_file() and path.suffix in (".py", ".json")
    ]
    entries = {f"stepscope/{path.relative_to(package).as_posix()}": path for path in chosen}
    entries[_START_UP.name] = package / _START_UP
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in entries.items():
            entry = zipfile.ZipInfo(name, _MOMENT)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, path.read_bytes())
