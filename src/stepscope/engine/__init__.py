"""Where per-rank work runs, and the way from a capture to a stored run."""

from stepscope.engine.ingest import Ingested, Progress, ingest

__all__ = ["Ingested", "Progress", "ingest"]
