"""From the text of a JSON trace to columns of its events."""
