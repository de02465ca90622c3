"""Which directories and files are MindInsight's."""

from __future__ import annotations

import json
from pathlib import Path

from readers import mindinsight_builder as made
from readers.mindinsight.read_directories import claim, read, read_source
from stepscope.readers import mindinsight
from stepscope.readers.discovery.windows import windows


def test_each_rank_of_a_directory_is_a_source_of_its_own(tmp_path: Path) -> None:
    directory = made.write(tmp_path / "profiler", made.contents(0) | made.contents(2) | made.contents(10))
    sources = claim(directory)
    assert [(source.rank, source.world_size) for source in sources] == [(0, 4), (2, 4), (10, 4)]
    for source in sources:
        names = {file.name for file in source.files}
        assert names == set(made.contents(source.rank or 0))  # the unnumbered file of marks belongs to all


def test_directories_of_other_formats_are_not_claimed(tmp_path: Path) -> None:
    assert mindinsight.claim(tmp_path, [], ["profiler_info_0.json", "trace_view.json"]) is None
    assert mindinsight.claim(tmp_path, [], ["pipeline_profiling_0.json"]) is None
    assert mindinsight.claim(tmp_path, ["FRAMEWORK"], ["step_trace_raw_0_detail_time.csv"]) is None
    assert mindinsight.claim(tmp_path, ["profiler"], ["summary.json"]) is None


def test_a_directory_with_operators_of_the_host_stays_mindinsights(tmp_path: Path) -> None:
    for number, content in enumerate((made.contents(), made.gpu_contents())):
        (source,) = windows(made.write(tmp_path / str(number), content))[-1].sources
        assert (source.reader, len(source.files)) == ("mindinsight", len(content))


def test_a_single_file_can_be_named(tmp_path: Path) -> None:
    directory = made.write(tmp_path, {"step_trace_raw_7_detail_time.csv": made.STEP_TRACE})
    source = mindinsight.claim_file(directory / "step_trace_raw_7_detail_time.csv", b"step_num")
    assert source is not None and source.rank == 7
    assert read_source(source, tmp_path / "out")[0]["steps"].height == 2
    assert mindinsight.claim_file(directory / "other.csv", b"step_num") is None


def test_unknown_files_and_raw_captures_beside_are_named(tmp_path: Path) -> None:
    directory = made.write(tmp_path / "profiler", made.contents() | {"strange_0.bin": "x"})
    (directory / "PROF_000001_20230818142704322_ABC").mkdir()
    _, counts = read(directory, tmp_path / "out")
    assert (counts["mindinsight_files_not_read"], counts["raw_capture_not_read"]) == (1, 1)


def test_the_cluster_layout_of_release_1_3_takes_ranks_from_the_rank_table(tmp_path: Path) -> None:
    for host in ("1", "2"):
        files = {
            name: text for device in (0, 1) for name, text in made.contents(device).items() if "step_trace_raw" in name
        }
        made.write(tmp_path / "cluster_profiler" / host / "profiler", files)
    servers = [
        {
            "server_id": f"10.0.0.{host}",
            "device": [{"device_id": str(card), "rank_id": str(rank)} for card, rank in cards],
        }
        for host, cards in ((1, ((0, 2), (1, 3))), (2, ((0, 0), (1, 1))))
    ]
    (tmp_path / "hccl.json").write_text(json.dumps({"server_list": servers}))
    (tmp_path / "host_ips_mapping.txt").write_text("10.0.0.1 1\n10.0.0.2 2\n")
    sources = claim(tmp_path)
    assert sorted((source.rank or 0, source.path.parent.name, source.world_size) for source in sources) == [
        (0, "2", 4),
        (1, "2", 4),
        (2, "1", 4),
        (3, "1", 4),
    ]
    last = next(source for source in sources if source.rank == 3)
    row = read_source(last, tmp_path / "out")[0]["ranks"].row(0, named=True)
    assert (row["rank"], row["host"], row["device_index"]) == (3, "1", 1)
    (tmp_path / "hccl.json").unlink()
    assert sorted(source.rank or 0 for source in claim(tmp_path)) == [0, 1, 2, 3]
