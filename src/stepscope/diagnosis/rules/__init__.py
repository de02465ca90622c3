"""One rule per file; each file names its rule ``RULE``."""
