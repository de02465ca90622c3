"""A training cluster on paper, with planted faults and their ground truth (docs/simulate.md).

>>> from stepscope.simulate.scenario_files import names
>>> "slow-rank" in names()
True
"""
