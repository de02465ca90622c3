"""Where per-rank work runs, and the way from a capture to a stored run."""
