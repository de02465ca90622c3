"""From a simulated run to tables and files."""
