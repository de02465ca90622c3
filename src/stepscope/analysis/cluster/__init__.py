"""What only several ranks together can tell: calls matched over ranks, who waited for whom, the cluster's slowdown."""

from stepscope.analysis.cluster.question import Cluster, cluster

__all__ = ["Cluster", "cluster"]
