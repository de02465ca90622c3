"""What all of the profiler stands on: the guard, messages, line files, who this process is."""
