"""What the host did at a moment: categories of its slices by name, and the slice that best tells an interval."""

from __future__ import annotations

from stepscope.analysis.foundation.host_activity.categories import CATEGORIES, OTHER, category_of
from stepscope.analysis.foundation.host_activity.host import ALL, Host, expanded
from stepscope.analysis.foundation.host_activity.read import host_of
from stepscope.arrays import NONE

__all__ = ["ALL", "CATEGORIES", "NONE", "OTHER", "Host", "category_of", "expanded", "host_of"]
