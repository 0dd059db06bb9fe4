"""How an index is kept in step: crawl by crawl, in batches."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import Any, Protocol, TypeVar

from scrapy_dedup.adapters.documents import AdapterError, Entry, Left, Outcome, Reading, read

BATCH_PAGES = 100

Value = TypeVar("Value")


class Index(Protocol):
    """An index during one crawl."""

    def write(self, entries: Sequence[Entry]) -> Outcome:
        """Store the pages that the index has not yet, delete older versions and removed pages.

        Writing the same entries twice equals once. An exception means that any part of it may be done; the pages
        have to be written again.
        """
        ...


def keep_in_step(items: Iterable[Any], begin: Callable[[], Index], reading: Reading) -> Outcome:
    """Bring an index to the state that items of one or several crawls describe, oldest crawl first.

    Args:
        items: of any kind. Those of a crawl stand together, as in a feed to which crawls append.
        begin: returns the index for the next crawl.
        reading: how items are read.
    """
    outcome = Outcome()
    for _, crawl in groupby(_entries(items, reading, outcome), key=lambda entry: entry.visit.get("run")):
        index = begin()
        for batch in batches(crawl, BATCH_PAGES):
            outcome += index.write(batch)
    return outcome


def _entries(items: Iterable[Any], reading: Reading, outcome: Outcome) -> Iterator[Entry]:
    for item in items:
        entry = read(item, reading)
        if isinstance(entry, Left):
            outcome.left[entry.reason] += 1
        else:
            yield entry


def batches(values: Iterable[Value], size: int) -> Iterator[list[Value]]:
    """Iterate over values in lists of a size; the last may be shorter."""
    if size < 1:
        raise AdapterError(f"batches of {size}: a batch has at least 1 member")
    iterator = iter(values)
    while batch := list(islice(iterator, size)):
        yield batch
