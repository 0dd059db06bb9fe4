class DedupError(Exception):
    """Base of every error that this package raises on purpose.

    A message names the thing, its value and the way out.
    """
