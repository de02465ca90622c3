"""Who waited for whom in communication, and by how much each rank held up the others."""
