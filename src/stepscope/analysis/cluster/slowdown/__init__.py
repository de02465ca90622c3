"""The cluster's slowdown: steps replayed with what they would take if all were alike, from operations or from calls."""
