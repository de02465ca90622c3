"""``stepscope doctor``: what is installed here, whether it fits together, and what can be recorded."""

from __future__ import annotations

from stepscope.cli.options import Json, Language, language


def doctor(json: Json = False, lang: Language = None) -> None:
    """Check this machine: versions, memory, disk, permissions, and what can be recorded on it."""
    from stepscope.doctor import examine
    from stepscope.report import doctor as report

    del lang
    examination = examine()
    if json:
        report.write_json(examination)
    else:
        report.show(examination, language())
