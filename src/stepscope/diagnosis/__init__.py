"""The findings of a run: one list, worked out by rules from the answers of the analyses, with a verdict on top."""
