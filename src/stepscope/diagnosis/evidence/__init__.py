"""What rules hand to their findings: numbers, proofs on the timeline, and names for sentences."""
