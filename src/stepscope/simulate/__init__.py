"""A training cluster on paper, with planted faults and their ground truth (docs/simulate.md).

>>> from stepscope.simulate.scenario import names
>>> "slow-rank" in names()
True
"""
