"""What several questions stand on: work, intervals, marks of steps, what the host did, and what is kept per rank."""
