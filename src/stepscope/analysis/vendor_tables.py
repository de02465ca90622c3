"""Why a question about operators has no answer: nothing was recorded, or only the vendor's own summary exists."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from stepscope.errors import NoAnswerError
from stepscope.facts.vendor_tables import vendor_tables_facts
from stepscope.store.run_store import RunStore


def no_operators(code: str, store: RunStore, ranks: Sequence[int]) -> NoAnswerError:
    """The error ``code``, or, if the vendor's tables of operators were read, one that says how to see them."""
    files = store.scan("reported", list(ranks)).select(pl.col("file").cast(pl.String).unique()).collect()["file"]
    named = sorted(file for file in files.drop_nulls() if file.startswith(vendor_tables_facts().operators))
    if not named:
        return NoAnswerError(code)
    among = ", ".join("'" + file.replace("'", "''") + "'" for file in named)
    query = f"SELECT rank, file, key, metric, value FROM reported WHERE file IN ({among})"
    command = f'stepscope sql {store.manifest.capture} "{query}"'
    return NoAnswerError("operators_only_reported", files=", ".join(named), command=command)
