"""SQLite files of any format: opened without a change to them, read column by column, damaged or not."""
