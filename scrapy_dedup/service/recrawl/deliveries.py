"""What a run knows of its pages, what their items were at the last visit, and which the delta feed leaves out."""

from collections import Counter, OrderedDict
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Final

from msgspec import Struct, field

from scrapy_dedup.core.duplicates import ITEM_BYTES, pack_fields, unpack_fields
from scrapy_dedup.core.recrawl.plan import GONE
from scrapy_dedup.core.recrawl.verdicts import VerdictKind
from scrapy_dedup.core.urls.seen import KeyTable
from scrapy_dedup.store.writer import ProjectStore

_KINDS: Final = tuple(VerdictKind)
# Beside its kind, in the number of a page.
_READ: Final = 1 << len(_KINDS).bit_length()


class RecentPages:
    """The keys that came last, so many of them."""

    def __init__(self, most: int) -> None:
        self._keys: OrderedDict[bytes, None] = OrderedDict()
        self._most = most

    def __contains__(self, key: bytes) -> bool:
        """Say whether a key is remembered."""
        return key in self._keys

    def add(self, key: bytes) -> None:
        """Add a key."""
        self._keys[key] = None
        if len(self._keys) > self._most:
            self._keys.popitem(last=False)


class PagesMet:
    """Pages that a run has received, or that what is held stands for, and what they were."""

    def __init__(self) -> None:
        self._table = KeyTable("B")
        self.redirected = KeyTable("B")
        """Keys of pages that led elsewhere."""

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._table)

    def __contains__(self, key: object) -> bool:
        """Say whether a page was met."""
        return key in self._table

    def __setitem__(self, key: bytes, kind: VerdictKind) -> None:
        """Note what a page was."""
        self._table.put(key, _KINDS.index(kind) | ((self._table.get(key) or 0) & _READ))

    def get(self, key: bytes) -> VerdictKind | None:
        """Return what a page was; None where it was not met."""
        number = self._table.get(key)
        return _KINDS[number & ~_READ] if number is not None else None

    def note_read(self, key: bytes) -> None:
        """Note of a page that was met that its callback came to its end: all that it links to is asked for."""
        number = self._table.get(key)
        if number is not None:
            self._table.put(key, number | _READ)

    def was_read(self, key: bytes) -> bool:
        """Say whether a page was met and read to its end."""
        return bool((self._table.get(key) or 0) & _READ)


_KEY_BYTES: Final = 16
# Of some 400 bytes each. Of a page that is forgotten counts what the store has.
_MOST_SHOWN: Final = 50_000


class Earlier(Struct):
    """Items of a page's last visit, as far as they may be left out now."""

    items: Counter[bytes] = field(default_factory=Counter)
    """That did not come yet."""
    left_out: Mapping[bytes, bytes] = field(default_factory=dict)
    """Of those that were left out for another page's item: that page."""
    keepers: Mapping[bytes, frozenset[bytes]] = field(default_factory=dict)
    """The fields of the items that each of these pages gave at its last visit before this run; none that is over."""

    def stays_left_out(self, keeper: bytes, fields: bytes | None, now: Collection[bytes] | None) -> bool:
        """Say whether another page's item stands for an item still.

        *fields* None: they equal no other's; *now* are those of the items that the keeper gave in this run, None: none
        yet.
        """
        before = self.keepers.get(keeper)
        return before is not None and fields in (before if now is None else now)


class Delivered(Struct):
    """What stands for a visit's items, as they came to the pipeline."""

    items: list[bytes] = field(default_factory=list)
    fields: set[bytes] = field(default_factory=set)
    """Their own, by which items of other pages equal them."""
    left_out: dict[bytes, bytes] = field(default_factory=dict)
    """Items that another page's stands for, and that page."""
    by_item: dict[int, bytes] = field(default_factory=dict)
    """What stands for those that are on their way, by the id of each."""

    def add(self, item: object, stands: bytes) -> None:
        """Note what stands for an item."""
        self.items.append(stands)
        self.by_item[id(item)] = stands

    def was_dropped(self, item: object) -> None:
        """Forget an item that a later pipeline dropped: the next visit gives it again."""
        stands = self.by_item.pop(id(item), None)
        if stands in self.items:
            self.items.remove(stands)

    def packed(self) -> tuple[bytes, bytes, bytes]:
        """Return items, fields and what was left out, as a `DeliveryRecord` has them."""
        pairs = (pack_fields([item]) + keeper for item, keeper in sorted(self.left_out.items()))
        return pack_fields(sorted(self.items)), pack_fields(sorted(self.fields)), b"".join(pairs)


class DeliveredFields:
    """The fields of the items of the last pages of this run, whether they went out or not."""

    def __init__(self) -> None:
        self._pages: OrderedDict[tuple[bytes, bytes], set[bytes]] = OrderedDict()

    def add(self, page_key: bytes, giver: bytes, fields: bytes | None) -> None:
        """Note an item that a callback made of a page; None: its fields equal no other's."""
        known = self._pages.setdefault((page_key, giver), set())
        if fields is not None:
            known.add(fields)
        if len(self._pages) > _MOST_SHOWN:
            self._pages.popitem(last=False)

    def of(self, page_key: bytes, giver: bytes) -> set[bytes] | None:
        """Return what a callback made of a page in this run; None: nothing yet."""
        return self._pages.get((page_key, giver))


class Recall(Struct, frozen=True):
    """Reads what the last visits of pages gave. Blocks, so call it in a thread."""

    store: ProjectStore
    met: PagesMet
    departed: RecentPages

    def earlier(self, page_key: bytes, giver: bytes, since: datetime | None) -> Earlier:
        """Return what the last visit of a page gave.

        *giver* is whose callback it is; *since* is that visit, None where it is not known.

        Raises:
            StoreError: the store failed.
        """
        last = self.store.deliveries(page_key).get(giver)
        if last is None:
            return Earlier()
        left_out = dict(_pairs(last.left_out))
        keepers = {}
        for key in sorted(set(left_out.values())):
            if not self._is_over(page_key, key, since):
                given = self.store.deliveries(key)
                # By another callback, where it is not this one's page.
                some = [given[giver]] if giver in given else given.values()
                keepers[key] = frozenset(one for delivery in some for one in unpack_fields(delivery.fields))
        return Earlier(Counter(unpack_fields(last.items)), left_out, keepers)

    def _is_over(self, alias: bytes, keeper: bytes, since: datetime | None) -> bool:
        """Say whether a page that stood for another is gone, redirects, was removed, or is another one since then."""
        passed, key = {alias}, keeper
        # One that was left out itself stands for what it was left out for.
        while key not in passed:
            passed.add(key)
            found = self.store.page_states([key]).get(key)
            if found is None or found.gone_at is not None or found.http_status in GONE or key in self.departed:
                return True
            was_changed = since is not None and found.last_changed_at is not None and found.last_changed_at > since
            if was_changed or found.alias_kind == "redirect" or self.met.get(key) is VerdictKind.CHANGED:
                return True
            key = found.document_key or key
        return False


def _pairs(packed: bytes) -> Iterable[tuple[bytes, bytes]]:
    """Return items that were left out, with the keys of the pages that stand for them."""
    size = ITEM_BYTES + _KEY_BYTES
    for start in range(0, len(packed), size):
        (item,) = unpack_fields(packed[start : start + ITEM_BYTES])
        yield item, packed[start + ITEM_BYTES : start + size]
