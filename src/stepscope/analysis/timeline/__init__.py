"""What the timeline page asks: one question per file, over columns of a rank that are loaded once and kept."""
