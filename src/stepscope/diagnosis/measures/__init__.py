"""What rules measure in a run: times of ranks, hosts, stages, kernels and links, and who stands out among them."""
