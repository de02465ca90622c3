"""Who takes part in which call of NDTimeline records: no record names its group or peer, but its name and place tell.

Gradients and parameters go between the data-parallel ranks of a stage; activations and their gradients to the
neighbouring stage; clipping and embedding between the stages that have them. The others of a tensor-parallel group
have no records.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from stepscope.facts.training_operations import training_operations_facts

#: In which direction the other end of a transfer lies; a first or last stage sends nothing further.
_TOWARDS: Final = {"forward-send": 1, "forward-recv": -1, "backward-send": -1, "backward-recv": 1}


def calls_of(slices: pl.DataFrame, places: pl.DataFrame, rank: int) -> pl.DataFrame:
    """Rows of ``collectives`` of a rank; ``places`` are those of all ranks of the file."""
    names = slices.filter(pl.col("kind") == "collective")["name"].unique().sort().to_list()
    groups = {name: _group(name, places, rank)[0] for name in names}
    peers = {name: _peer(name, places, rank) for name in names}
    return slices.filter(pl.col("kind") == "collective").select(
        "slice",
        "name",
        "step",
        "start_ns",
        "stream",
        kind="call",
        end_ns=pl.col("start_ns") + pl.col("dur_ns"),
        group=pl.col("name").replace_strict(groups, return_dtype=pl.String),
        peer=pl.col("name").replace_strict(peers, return_dtype=pl.Int64),
    )


def groups_of(places: pl.DataFrame, rank: int) -> pl.DataFrame:
    """Rows of ``groups``: those of a rank whose members the file tells."""
    known = training_operations_facts().operations
    own = places.filter((pl.col("rank") == rank) & pl.col("optype").is_in(list(known)))["optype"]
    groups = {_group(name, places, rank) for name in own if known[name].kind == "collective"}
    rows = [
        {"group": name, "ranks": list(members) or None, "dimension": dimension}
        | {"origin": "ndtimeline", "confidence": "stated"}
        for name, members, dimension in sorted(groups)
    ]
    return pl.DataFrame(rows, schema_overrides={"ranks": pl.List(pl.Int32)})


def _group(operation: str, places: pl.DataFrame, rank: int) -> tuple[str, tuple[int, ...], str]:
    """Name, members, dimension of the group that an operation of a rank belongs to."""
    own = places.row(by_predicate=(pl.col("rank") == rank) & (pl.col("optype") == operation), named=True)
    several = places["member"].n_unique() > 1
    member = f", line {own['member'] - 1}" if several else ""
    having = places.filter(pl.col("optype") == operation)
    match training_operations_facts().operations[operation].meets:
        case "dp":
            alike = (pl.col("pp") == own["pp"]) & (pl.col("member") == own["member"])
            return f"dp of stage {own['pp']}{member}", _ranks(having.filter(alike)), "dp"
        case "stages" | "pair" as meets:
            line, members = (frame.filter(pl.col("line") == own["line"]) for frame in (places, having))
            stages = members["pp"].unique().sort().to_list()
            if meets == "pair" or stages == line["pp"].unique().sort().to_list():
                return f"pp of dp {own['dp']}{member}", _ranks(line), "pp"
            return f"stages {', '.join(map(str, stages))} of dp {own['dp']}{member}", _ranks(members), ""
        case _:
            return f"tp of rank {rank}", (), "tp"


def _peer(operation: str, places: pl.DataFrame, rank: int) -> int | None:
    """The rank at the other end of a transfer."""
    if operation not in _TOWARDS:
        return None
    own = places.row(by_predicate=(pl.col("rank") == rank) & (pl.col("optype") == operation), named=True)
    there = (pl.col("line") == own["line"]) & (pl.col("pp") == own["pp"] + _TOWARDS[operation])
    return next(iter(_ranks(places.filter(there))), None)


def _ranks(places: pl.DataFrame) -> tuple[int, ...]:
    return tuple(places["rank"].unique().sort())
