"""``small_packets``: messages are cut into packets so small that latency counts and not bandwidth."""

from __future__ import annotations

import polars as pl

from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.numbers import number
from stepscope.diagnosis.finding import Finding, Proof
from stepscope.diagnosis.losses import Loss, Next, findings_of, worth_telling
from stepscope.diagnosis.rule import Rule
from stepscope.facts.findings import finding_facts
from stepscope.texts.numbers import byte_size


def judge(run: RunContext) -> list[Finding]:
    """Ranks that spend exposed time on transfers in small packets."""
    limits = finding_facts().small_packets
    transport = pl.col("transport").cast(pl.String).fill_null("")
    least = transport.replace_strict(limits.least_bytes, default=limits.least_bytes_otherwise, return_dtype=pl.Int64)
    rows = (
        run.store.scan("transfers")
        .filter((pl.col("kind").cast(pl.String) == "payload") & pl.col("step").is_not_null() & (pl.col("packets") > 1))
        .filter(pl.col("bytes") / pl.col("packets") < least)
        .group_by("rank", transport.alias("transport"))
        .agg(pl.col("bytes", "packets").sum(), time_us=pl.col("time_ns").sum() / 1000)
        .sort("rank", "transport")
        .collect()
    )
    losses = []
    for rank, transport_name, size, packets, time_us in rows.iter_rows():
        time = run.times.get(rank)
        if time is None:
            continue
        exposed = run.exposed_transfers.get(rank, time.communicating_us)
        gain = min(time_us / len(time.steps), exposed)
        if worth_telling(time.share(gain)):
            losses.append(
                Loss(
                    rank=rank,
                    cause="packets",
                    title="finding_title.small_packets",
                    advice="finding_advice.small_packets",
                    gain_us=gain,
                    gain_share=time.share(gain),
                    gain_method="exposure_removed",
                    words={"transport": transport_name, "size": byte_size(size / packets)},
                    evidence=[number("packet_size", size / packets, "bytes", link="communication")],
                    proof=[Proof(rank=rank, page="communication")],
                )
            )
    return findings_of(run, "small_packets", losses, Next(("communication", "steps"), "communication"))


RULE = Rule(kinds=("small_packets",), needs=("links",), judge=judge)
