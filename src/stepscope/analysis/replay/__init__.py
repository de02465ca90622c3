"""The replay: what ranks did as a graph of dependencies, which tells how long it would have taken with a change.

One engine for the critical path, for what-if and for the gains of findings (docs/metrics/replay.md).
"""
