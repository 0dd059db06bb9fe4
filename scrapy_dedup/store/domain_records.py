"""What callers hand to the store about domains."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class ConfidenceRecord:
    """How good items of a domain were; written twice, it counts twice.

    Attributes:
        high: items with DEDUP_HIGH_QUALITY at least.
        low: the others.
        total: the sum of all confidences.
        best: the largest.
        at: when the last one went out.
    """

    domain: str
    high: int
    low: int
    total: float
    best: float
    at: datetime

    def __add__(self, other: "ConfidenceRecord") -> "ConfidenceRecord":
        """Return the counts of both; the first one's domain."""
        return ConfidenceRecord(
            self.domain,
            self.high + other.high,
            self.low + other.low,
            self.total + other.total,
            max(self.best, other.best),
            max(self.at, other.at),
        )
