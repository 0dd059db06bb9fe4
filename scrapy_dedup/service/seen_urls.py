"""Which URLs a queue has seen: what memory says at once, and what only the store knows."""

from collections.abc import Callable, Collection, Iterator
from typing import Final, Protocol

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.urls.seen import Filter, Layers, RecentKeys
from scrapy_dedup.store.engine.errors import StoreError

FALSE_POSITIVES: Final = 0.001
# Menus of many sites; 90 bytes each.
_RECENT: Final = 5_000
# What waits while the store is away: 90 bytes each. What finds no room may come again, and is never dropped.
_MOST_WAITING: Final = 100_000


class SeenKeys(Protocol):
    """Where the keys are kept, see `store.seen_urls.SeenTable`."""

    def holds(self, key: bytes) -> bool:
        """Say whether a key was added."""

    def add(self, keys: Collection[bytes]) -> None:
        """Write keys."""

    def count(self) -> int:
        """Return the number of keys."""

    def scan(self) -> Iterator[list[bytes]]:
        """Yield all keys."""


def make_filter(urls: int) -> Filter:
    """Return an empty filter for so many URLs, 1.8 bytes each.

    Raises:
        DedupError: rbloom is not installed.
    """
    try:
        from rbloom import Bloom  # noqa: PLC0415 (an extra)
    except ImportError as error:
        raise DedupError(
            "DUPEFILTER_CLASS='scrapy_dedup.StoreDupeFilter' needs rbloom: run pip install 'scrapy_dedup[seen]'"
        ) from error
    return Bloom(urls, FALSE_POSITIVES)


class SeenUrls:
    """The keys of one queue's URLs.

    A key is new unless memory or the store says exactly that it was noted: a filter's "perhaps" drops nothing, nor does
    a store that cannot be asked. `take`, `written` and `failed` belong to the thread that asks; what `take` gave may be
    written by another.
    """

    def __init__(
        self,
        table: SeenKeys,
        capacity: int,
        *,
        filters: Callable[[int], Filter] = make_filter,
        most_waiting: int = _MOST_WAITING,
    ) -> None:
        """Begin with nothing known; `load` reads what the table holds.

        Args:
            table: of the queue.
            capacity: URLs to make room for at first.
            filters: makes an empty filter for so many URLs.
            most_waiting: how many may wait to be written.
        """
        self._table = table
        self._capacity = capacity
        self._most_waiting = most_waiting
        self._filters = filters
        self._layers = Layers(filters, capacity)
        self._recent = RecentKeys(_RECENT)
        self._waiting: set[bytes] = set()
        self._writing: set[bytes] = set()
        self.asks = True
        """Whether the store is asked; not after an error, until a write has come through."""
        self.lookups = 0
        self.false_positives = 0
        self.not_asked = 0
        """Keys that the filter had perhaps, while the store was away."""
        self.unwritten = 0
        """Keys that found no room while the store was away; they may come again."""

    def __len__(self) -> int:
        """Return how many keys were noted, but for those that a filter took for known."""
        return self._layers.size

    def __contains__(self, key: bytes) -> bool:
        """Say whether a key was noted, exactly."""
        return self._is_held(key) or (key in self._layers and self._is_stored(key))

    def meet(self, key: bytes) -> bool:
        """Say whether a key was noted, exactly, and note it."""
        if self._is_held(key):
            return True
        if key not in self._layers:
            self._layers.add(key)
        elif self._is_stored(key):
            return True
        if len(self._waiting) < self._most_waiting:
            self._waiting.add(key)
        else:
            self.unwritten += 1
            self._recent.add(key)
        return False

    def load(self, told: Callable[[int, int], None]) -> int:
        """Read what the table holds; return how many keys that are.

        *told* is called after each part with the number of keys so far, and of all.

        Raises:
            StoreError: the store failed.
        """
        known = self._table.count()
        # Sized by what is known, so that it begins as one layer again, with room for some more.
        layers = Layers(self._filters, max(self._capacity, known + known // 4))
        for keys in self._table.scan():
            layers.update(keys)
            told(layers.size, known)
        self._layers = layers
        return layers.size

    @property
    def layers(self) -> int:
        """How many filters hold them; one, but where there were more URLs than expected."""
        return len(self._layers)

    # Writing.

    @property
    def waiting(self) -> int:
        """How many keys wait to be written."""
        return len(self._waiting)

    def take(self) -> Collection[bytes]:
        """Return what is to be written next; it is known here until `written` or `failed`."""
        self._writing, self._waiting = self._waiting, set()
        return self._writing

    def written(self) -> None:
        """Let go of what was taken: the store has it."""
        self._writing = set()
        self.asks = True

    def failed(self) -> None:
        """Take back what could not be written, as far as there is room."""
        room = max(0, self._most_waiting - len(self._waiting))
        back = sorted(self._writing)
        self._waiting.update(back[:room])
        self.unwritten += len(back[room:])
        self._writing = set()

    def _is_held(self, key: bytes) -> bool:
        return key in self._recent or key in self._waiting or key in self._writing

    def _is_stored(self, key: bytes) -> bool:
        if not self.asks:
            self.not_asked += 1
            return False
        try:
            stored = self._table.holds(key)
        except StoreError:
            self.asks = False
            self.not_asked += 1
            return False
        self.lookups += 1
        if stored:
            self._recent.add(key)
        else:
            self.false_positives += 1
        return stored
