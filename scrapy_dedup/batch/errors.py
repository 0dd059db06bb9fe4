"""What a batch run may fail by."""

from scrapy_dedup.core.errors import DedupError


class BatchError(DedupError):
    """The run cannot go on; the message says what to do."""
