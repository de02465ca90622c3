"""The profile and its windows: what is recorded, when, and into which files."""
