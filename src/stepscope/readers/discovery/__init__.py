"""Which file is what, and which windows and ranks the files make."""
