"""One file per subject; each adds its routes to a router."""
