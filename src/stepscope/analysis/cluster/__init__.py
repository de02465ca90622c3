"""Questions about several ranks at once: calls matched across ranks, who waited for whom, the cluster's slowdown."""

from stepscope.analysis.cluster.question import Cluster, cluster

__all__ = ["Cluster", "cluster"]
