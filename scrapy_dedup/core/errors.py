class DedupError(Exception):
    """Base of every error that this package raises on purpose.

    A message names the thing, its value and the way out.
    """


class MissingError(DedupError):
    """What was asked for is not there."""


class InvalidError(DedupError):
    """What was given is not what it has to be."""
