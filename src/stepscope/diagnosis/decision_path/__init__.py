"""The path through the decision trees of the tuning guides."""
