"""What becomes of a finished window: where it goes, and its parsing by the analysis side."""
