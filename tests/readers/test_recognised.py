"""Files that must be converted first: the error names the format and the command."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

import pytest

from stepscope.errors import UnreadableInputError
from stepscope.readers.discovery.detect import sources

_TRACE = b'{"traceEvents": [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1}]}'
_SQLITE = b"SQLite format 3\0" + bytes(100)


@pytest.mark.parametrize(
    ("name", "content", "what", "command"),
    [
        ("report.nsys-rep", b"QDSTRM", "Nsight Systems report", "nsys export --type sqlite"),
        ("host.xplane.pb", b"\x0a\x03abc", "XPlane", "xprof"),
        ("trace.pftrace", b"\x0a\x03abc", "Perfetto", "traceconv json"),
        ("trace.rpd", b"SQLite format 3", "rocmProfileData", "rpd2tracing.py"),
        ("et.json", b'{"schema": "1.0.2-chakra.0.0.4", "pid": 7, "nodes": [{"id": 2}]}', "execution trace", "profile("),
        ("42_results.db", _SQLITE + b"CREATE TABLE `rocpd_info_agent_0000`", "rocpd", "rocpd convert -i"),
        (
            "memory.raw.json",
            b"[[-1, 1, 524288, 0], [1795063323463598000, 2, 2048, 3]]",
            "memory timeline",
            "_dump_snapshot",
        ),
        (
            "memory.json",
            b"[[1795063323463598, 1795063323463599], [[0, 1], [0, 2]]]",
            "memory timeline",
            "_dump_snapshot",
        ),
        ("top.txt", b"-----  -----\n  Name    Self CPU %   Self CPU\n-----", "key_averages()", "export_chrome_trace"),
        ("p.json", b'{"$schema":"https://www.speedscope.app/file-format-schema.json"}', "speedscope", "chrometrace"),
        ("trace.json.bz2", bz2.compress(_TRACE), "bzip2", "bzip2 -dk"),
        ("trace.json.xz", lzma.compress(_TRACE), "xz", "xz -dk"),
        ("trace.json.zst", b"\x28\xb5\x2f\xfd\x24\x00", "zstd", "zstd -dk"),
        ("trace.json.lz4", b"\x04\x22\x4d\x18\x64\x40", "LZ4", "lz4 -dk"),
        ("traces.7z", b"7z\xbc\xaf\x27\x1c\x00\x04", "7-Zip", "7z x"),
        ("trace.json", _TRACE.decode().encode("utf-16"), "UTF-16", "iconv -f UTF-16 -t UTF-8"),
        ("worker0.pt.trace.json", b"version https://git-lfs.github.com/spec/v1\noid", "Git LFS", "git lfs pull"),
        ("trace.json.gz", gzip.compress(gzip.compress(_TRACE)), "gzip file inside a gzip file", "gzip -dk"),
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


@pytest.mark.parametrize(("name", "command"), [("job.zip", "unzip"), ("job.tar.gz", "tar xf"), ("job.tgz", "tar xf")])
def test_an_archive_in_a_directory_is_named(name: str, command: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"whatever is in it")
    with pytest.raises(UnreadableInputError, match=f"{name}: archive.*{command}"):
        sources(tmp_path)
