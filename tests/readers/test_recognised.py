"""Files that must be converted first: the error names the format and the command."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepscope.errors import UnreadableInputError
from stepscope.readers.discovery.detect import sources


@pytest.mark.parametrize(
    ("name", "content", "what", "command"),
    [
        ("report.nsys-rep", b"QDSTRM", "Nsight Systems report", "nsys export --type sqlite"),
        ("host.xplane.pb", b"\x0a\x03abc", "XPlane", "xprof"),
        ("trace.pftrace", b"\x0a\x03abc", "Perfetto", "traceconv json"),
        ("trace.rpd", b"SQLite format 3", "rocmProfileData", "rpd2tracing.py"),
        ("et.json", b'{"schema": "1.0.2-chakra.0.0.4", "pid": 7, "nodes": [{"id": 2}]}', "execution trace", "profile("),
        ("memory.html", b"<!DOCTYPE html><html><body>", "HTML", "export_chrome_trace"),
    ],
)
def test_the_error_says_what_it_is_and_what_converts_it(
    name: str, content: bytes, what: str, command: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    for path in (tmp_path / name, tmp_path):
        with pytest.raises(UnreadableInputError) as refused:
            sources(path)
        for language in ("en", "zh"):
            sentence = refused.value.message(language)
            assert what in sentence
            assert command in sentence


def test_other_files_are_still_unknown(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(UnreadableInputError) as refused:
        sources(tmp_path / "notes.txt")
    assert "does not know the format" in refused.value.message("en")
