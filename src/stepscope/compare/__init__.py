"""Two runs, ranks or steps side by side: what changed, by how much, and whether it is more than noise."""
