"""One question per file: a pure function from a stored run to a typed answer. ``catalogue.py`` lists them."""
