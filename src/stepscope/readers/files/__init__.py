"""Bytes, text, tables and numbers of any file of a capture, in whatever state it is."""
