"""The run store: schema, writing, opening, integrity, SQL."""
