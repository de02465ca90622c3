"""The score of the diagnosis: simulated runs with known faults, and how many of them are named (docs/score.md)."""
