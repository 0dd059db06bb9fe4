"""What can be wrong with a domain that was asked for."""

from scrapy_dedup.core.errors import DedupError


class UnknownDomainError(DedupError):
    """A domain is not registered."""


class DomainNameError(DedupError):
    """A text names no domain."""
