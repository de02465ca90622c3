"""What the device waited for data: ``minddata_aicpu`` (Ascend, us) and ``minddata_getnext_profiling`` (GPU, ns).

Lines are ``name start end fill``; the fill is that of the device's own queue at that moment. Other lines of the file
belong to other AI CPU nodes, which ``aicpu_intermediate`` lists in full.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import polars as pl

from stepscope.readers.files.numbers import NS, US, scaled_column
from stepscope.readers.files.reading import Reading
from stepscope.readers.files.text_files import matched
from stepscope.readers.minddata.stages import DEVICE_QUEUE
from stepscope.readers.slices.slice_parts import SliceParts

_LINE: Final = r"^\s*(?<name>GetNext\S*)\s+(?<start>\d+)\s+(?<end>\d+)\s+(?<fill>\d{1,12})\s*$"


def read_get_next(path: Path, sink: int, reading: Reading, parts: SliceParts) -> None:
    """Slices of waiting, and the fill of the device's queue as samples of stage ``sink``."""
    waits_text = matched(path, _LINE, reading)
    if waits_text.is_empty():
        return
    unit = NS if path.name.startswith("minddata_getnext") else US
    track = parts.tracks.track("stream", "GetNext", "data queue of the device")
    waits = waits_text.select(
        "name",
        start_ns=scaled_column(waits_text["start"], unit),
        end_ns=scaled_column(waits_text["end"], unit),
        queue=pl.col("fill").cast(pl.Int64),
    )
    parts.add(
        waits.select(
            "name",
            "start_ns",
            pl.lit(track).alias("track"),
            pl.lit("wait").alias("kind"),
            pl.lit("data").alias("phase"),
            dur_ns=pl.col("end_ns") - pl.col("start_ns"),
            json=pl.lit('{"queue_size": ') + pl.col("queue").cast(pl.String) + pl.lit("}"),
        ),
        path.name,
    )
    if sink == DEVICE_QUEUE:
        name = "device queue"
        reading.out.add(
            "pipeline_ops",
            pl.DataFrame({"op": [DEVICE_QUEUE], "name": [name], "kind": ["DeviceQueue"], "sink": [True]}),
        )
    samples = waits.filter(pl.col("end_ns").is_not_null())
    reading.out.add("pipeline_samples", samples.select(pl.lit(sink).alias("op"), "queue", time_ns="end_ns"))
