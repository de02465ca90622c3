"""For coding assistants: a skill that teaches the commands, and a read-only server of the Model Context Protocol."""
