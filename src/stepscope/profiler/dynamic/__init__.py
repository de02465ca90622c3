"""Windows in a running job: the watched file, the agreement of a host's ranks, the trigger."""
