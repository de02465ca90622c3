"""Pictures of findings: stretches of the timeline, and curves of memory."""
