"""One question per file or package: a pure function from a run to a typed answer (``foundation.question``)."""
