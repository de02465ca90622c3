"""From columns to slices with rows and parents, steps, tracks, series and links."""
