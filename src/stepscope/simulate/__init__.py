"""A training cluster on paper, with planted faults and their ground truth."""
