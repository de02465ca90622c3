"""What only several ranks together can tell: calls matched over ranks, who came late, who waited for whom."""
