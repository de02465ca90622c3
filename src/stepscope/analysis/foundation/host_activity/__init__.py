"""What the host did at a moment: categories of its slices by name, and the slice that best tells an interval."""

from __future__ import annotations

from stepscope.analysis.foundation.host_activity.categories import CATEGORIES, OTHER, category_of
from stepscope.analysis.foundation.host_activity.host import ALL, Host
from stepscope.analysis.foundation.host_activity.read import host_of

__all__ = ["ALL", "CATEGORIES", "OTHER", "Host", "category_of", "host_of"]
