"""Items of any kind: what they bring, and what they can take."""

import copyreg
import logging
import re
from collections.abc import Callable, Collection, Iterator, Mapping, MutableMapping
from contextlib import suppress
from contextvars import ContextVar
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from pathlib import PurePath
from types import MappingProxyType
from typing import Any, Final, Self
from weakref import getweakrefcount

from itemadapter import ItemAdapter
from scrapy import Item
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem
from scrapy.http import Response, TextResponse
from w3lib.encoding import html_to_unicode

from scrapy_dedup.core.duplicates import ITEM_BYTES, fields_hash
from scrapy_dedup.core.pages.fingerprints import parts_hash
from scrapy_dedup.plugin.requests import carried_by
from scrapy_dedup.service.duplicates.chunking import PageChunks, chunks_report
from scrapy_dedup.settings import Settings


@dataclass
class ChunkItem:
    """A chunk of a page, or word that one is to be forgotten."""

    url: str
    page_key: str
    id: str
    state: str
    """added; kept, where the page's last version had it; removed: whoever holds it lets it go."""
    hash: str
    """SHA-256 of the text; of a chunk that is no longer on its page, how that begins."""
    text: str | None = None
    overlap: str | None = None
    """End of the chunk before, to be put in front."""
    headings: list[str] = field(default_factory=list)
    title: str | None = None
    position: int | None = None
    kind: str | None = None
    size: int | None = None
    language: str | None = None
    mixed: bool = False
    layer: str | None = None
    """That left it out."""
    reason: str | None = None
    holder: str | None = None
    """Key of the page that gives it."""


def chunk_items(url: str, page_key: bytes, title: str | None, chunks: PageChunks) -> Iterator[ChunkItem]:
    """Yield an item for each chunk of a page."""
    for report in plain(chunks_report(chunks)):
        yield ChunkItem(url=url, page_key=page_key.hex(), title=title, **report)


class DuplicateItem(DropItem):
    """The item's page went out before, under this or another URL."""

    def __init__(self, message: str, keeper: bytes | None = None) -> None:
        super().__init__(message, log_level="DEBUG")
        self.keeper = keeper
        """The key of the other page whose item stands for this one."""


_PASSING: ContextVar[list[bytes]] = ContextVar("passing", default=[])  # noqa: B039 (it stays empty)
"""What stands for the item that a task takes through the pipelines, from ours on: a pipeline before may have made it of
another one, by which Scrapy tells that it was dropped."""


def note_passing(stands: bytes | None) -> None:
    """Note the item that goes on through the pipelines; None: nothing stands for it."""
    _PASSING.set([stands] if stands is not None else [])


def passed() -> bytes | None:
    """Return what stands for the item that leaves the pipelines; None where it never came to ours."""
    noted = _PASSING.get()
    return noted.pop() if noted else None


async def send(crawler: Crawler, items: list[Any], response: Response | None) -> None:
    """Pass items through all pipelines, one after the other.

    The pipelines still hold the item of their page, so that the crawl cannot end meanwhile.
    """
    assert crawler.engine is not None
    of_page = _PASSING.set([])
    for item in items:
        await crawler.engine.scraper.start_itemproc_async(item, response=response)
    _PASSING.reset(of_page)


logger = logging.getLogger(__name__)

_URL: Final = re.compile(r"https?://\S+\Z")
CONTENT = "cleaned_content"
REPORT = "dedup"
METADATA = ("title", "date", "author")
"""Set where an item has no value of its own."""
FILLED = "filled"
"""In the report: which of them were set."""
SOURCE_GROUP = "source_group"
"""An item may say to which group its page belongs; else the setting does."""


@dataclass
class PageItem:
    """A page with the fields that the plugin reads and writes. A plain dict with url and html does as well."""

    url: str
    html: str | None = None
    cleaned_content: str | None = None
    title: str | None = None
    date: str | None = None
    author: str | None = None
    dedup: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_response(cls, response: Response) -> Self:
        """Return an item for a response; without HTML where the response is no text."""
        return cls(url=response.url, html=response.text if isinstance(response, TextResponse) else None)


def value_of(adapter: ItemAdapter, name: str) -> Any:
    """Return an item's field; None where it has none of that name."""
    # Not by `in` or `get`: a defaultdict makes a field of any name that it is asked for.
    return adapter[name] if name in tuple(adapter) else None


def _alone(value: Any) -> Any:
    """Return a value, or the one in a list: an ItemLoader makes lists of all fields."""
    return value[0] if isinstance(value, list | tuple) and len(value) == 1 else value


def text_field(adapter: ItemAdapter, name: str, content_type: str | None = None) -> str | None:
    """Return an item's field as text; None where it is missing, empty or nothing that could be read as text.

    Bytes are read by the Content-Type.
    """
    value = _alone(value_of(adapter, name))
    if isinstance(value, bytes):
        return html_to_unicode(content_type, value)[1] or None
    return value if isinstance(value, str) and value else None


def url_of(adapter: ItemAdapter, settings: Settings) -> str | None:
    """Return the URL that an item names."""
    value = _alone(value_of(adapter, settings.url_field))
    return value.strip() or None if isinstance(value, str) else _text_of_url(value)


def _text_of_url(value: Any) -> str | None:
    """Return the text of a URL of a class of its own, as pydantic's, yarl's and web-poet's; None for anything else."""
    if type(value).__module__ == "builtins" or hasattr(value, "__iter__"):
        return None  # such as bytes of a file, or a table, of which the text is long; a URL may have a length
    try:
        return text if _URL.match(text := str(value)) else None
    except Exception:  # noqa: BLE001 (a class of the user's)
        return None


def item_hash(item: Any, left_out: Collection[str], known: Mapping[str, str] = MappingProxyType({})) -> bytes | None:
    """Return what stands for an item's fields, see `fields_hash`, and its class: each may have a feed of its own.

    *left_out* are names of fields that do not count, *known* what stands in the place of a field's value.
    """

    def hashed(fields: Mapping[str, Any]) -> bytes | None:
        counted = {name: _lasting(value) for name, value in fields.items() if name not in left_out}
        return fields_hash(counted | dict(known))

    adapter = ItemAdapter(item)
    # What it takes to compare the rest takes longer than all else here.
    found = hashed(adapter)
    if found is None:
        with suppress(Exception):  # of the user's classes
            found = hashed(_as_shown(item))
    return parts_hash(found, type(item).__qualname__.encode(), size=ITEM_BYTES) if found else found


_FILE_STATUSES: Final = frozenset(("downloaded", "uptodate", "cached"))


def _lasting(value: Any) -> Any:
    """Return a field's value without where this crawl had a file from, which a media pipeline says of each."""
    if isinstance(value, list | tuple) and any(map(_is_file, value)):
        return [_lasting(one) for one in value]
    return {**value, "status": "downloaded"} if _is_file(value) else value


def _is_file(value: Any) -> bool:
    """Say whether a value is what FilesPipeline, or one made of it, says of a file."""
    is_whole = isinstance(value, dict) and {"url", "path", "checksum", "status"} <= value.keys()
    return is_whole and isinstance(value["status"], str) and value["status"] in _FILE_STATUSES


_EXACT: Final[tuple[tuple[type, Callable[[Any], Any]], ...]] = (
    (bool, bool),
    (str, str.__str__),
    (int, int.__int__),
    (float, float.__float__),
)


def _as_shown(value: Any) -> Any:
    """Return a value as a feed shows it: items in it as dicts, and what is of a subclass as what that is made of.

    Texts of BeautifulSoup and lxml, of some enums too, are of subclasses of `str`.
    """
    if ItemAdapter.is_item(value):
        return {name: _as_shown(one) for name, one in ItemAdapter(value).items()}
    if isinstance(value, list | tuple):
        return (list if isinstance(value, list) else tuple)(map(_as_shown, value))
    if isinstance(value, Response):
        return _response_shown(value)
    # Not `str(value)`: that of an enum names its class.
    exact = next((exact(value) for kind, exact in _EXACT if isinstance(value, kind)), value)
    return exact if isinstance(exact, str) else _text_of_url(exact) or _object_shown(exact)


def _object_shown(value: Any) -> Any:
    """Return the class of an object and all its attributes, where it holds nothing else; any other value as it is."""
    if isinstance(value, Enum | PurePath):
        return [type(value).__qualname__, value.name if isinstance(value, Enum) else str(value)]
    told: Any = () if type(value).__module__ == "builtins" else value.__reduce_ex__(4)
    is_plain = len(told) == 5 and told[:2] == (copyreg.__newobj__, (type(value),)) and told[3:] == (None, None)  # type: ignore[attr-defined]
    # What an object leaves out of its pickle may be what tells it from another.
    is_plain = is_plain and type(value).__getstate__ is object.__getstate__  # type: ignore[comparison-overlap]
    return [type(value).__qualname__, _as_shown(told[2])] if is_plain else value


def _response_shown(response: Response) -> Any:
    """Return what a pipeline may read from a response, but for headers, which are others each time."""
    carried = carried_by(response.request) if response.request is not None else b"-"
    return [response.status, response.url, response.body, carried] if carried else response


def detached(item: Any) -> Any:
    """Return an item of its own with the values of now: a callback may go on to fill the one that it yielded.

    It may yield it again, too, for each row of a table or from each of its pages. Without the plugin an item passes
    most pipelines before the callback goes on; here it may wait. What cannot be copied is returned as it is. So is an
    object that something knows by a weak reference, as SQLAlchemy does each of its rows: a copy would not be that row.
    """
    try:
        return _copied(item, {}) if ItemAdapter.is_item(item) else item
    except Exception:  # noqa: BLE001 (a class of the user's)
        return item


_ATOMS: Final = (str, bytes, int, float)


def _copied(value: Any, known: dict[int, tuple[Any, Any]]) -> Any:
    """Return a copy of items, dicts, lists, sets and tuples, with what is in them, and everything else as it is.

    *known* is of originals by their identity, and with each copy its original, lest another takes that identity.
    """
    if value is None or isinstance(value, _ATOMS):  # else each adapter of items is asked
        return value
    if id(value) in known:
        return known[id(value)][1]
    if type(value) in (tuple, set):
        return type(value)([_copied(one, known) for one in value])
    if type(value) is list:
        rows = list[Any]()
        known[id(value)] = value, rows
        rows += [_copied(one, known) for one in value]
        return rows
    return _copied_item(value, known) if ItemAdapter.is_item(value) else value


def _copied_item(item: Any, known: dict[int, tuple[Any, Any]]) -> Any:
    """Return a copy without what its class does when an item is made, or a field set: either may change values."""
    if not isinstance(item, Item) and getweakrefcount(item):
        return item
    copied = copy(item)
    known[id(item)] = item, copied
    if isinstance(item, dict):
        # As they are kept: a class may show others by `items`.
        for name, one in dict.items(item):
            dict.__setitem__(copied, name, _copied(one, known))
        return copied
    names = () if isinstance(item, Item) else ItemAdapter(item).field_names()
    for name in {*names, *getattr(item, "__dict__", ())}:
        if isinstance(one := getattr(item, name, None), dict | list | set | tuple):
            object.__setattr__(copied, name, _copied(one, known))
    return copied


def plain(value: Any) -> Any:
    """Return a value made of dict, list, str, int, float, bool and None alone, which every feed format takes."""
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if value is None or type(value) in (bool, str, int, float):
        return value
    if isinstance(value, datetime):
        return value.isoformat()
    # A member of an enum by its value: `str` of some names its class.
    value = value.value if isinstance(value, Enum) else value
    return next((kind(value) for kind in (int, float) if isinstance(value, kind)), str(value))


def not_own(settings: Settings) -> frozenset[str]:
    """Return the fields by which an item is not told from another."""
    return settings.ignore_fields | {settings.url_field, settings.html_field, settings.content_field, CONTENT, REPORT}


class ItemFields:
    """Sets fields where an item's class has them, and says once where it has not."""

    def __init__(self) -> None:
        self._told: set[tuple[type, str]] = set()

    def can_take_content(self, item: Any) -> bool:
        """Say whether the item can be cleaned at all; if not, a warning shows the line to add."""
        if has_field(item, CONTENT):
            return True
        if self._is_news(item, CONTENT):
            line = "%s has no field %s and goes out uncleaned; add to the class: %s"
            logger.warning(line, type(item).__name__, CONTENT, _declaration(item, CONTENT))
        return False

    def warn_of_nameless(self, item: Any, url_field: str) -> None:
        """Warn once where an item of a page of HTML says neither which page it is nor what its text is."""
        if self._is_news(item, url_field):
            line = "%s has no URL in %s and goes out uncleaned; for its page's text set %s to response.url"
            logger.warning(line, type(item).__name__, url_field, url_field)

    def warn_of_own(self, item: Any, adapter: ItemAdapter, settings: Settings) -> None:
        """Warn once where the plugin's fields take the place of the item's own; of an item that it filled, never."""
        report = value_of(adapter, REPORT)
        if isinstance(report, dict) and FILLED in report:
            return
        for name in {CONTENT, REPORT} - {settings.content_field, settings.html_field}:
            if value_of(adapter, name) not in (None, "", {}) and self._is_news(item, name):
                hint = f"; if it is the text to clean: DEDUP_CONTENT_FIELD = {CONTENT!r}" if name == CONTENT else ""
                line = "%s has a field %s of its own, which the plugin's replaces; yield it by another name%s"
                logger.warning(line, type(item).__name__, name, hint)

    def put(self, item: Any, adapter: ItemAdapter, name: str, value: Any) -> None:
        """Set a field; leave it out, and say so once, where the class does not declare it."""
        if has_field(item, name):
            try:
                adapter[name] = plain(value)
            except Exception:
                if isinstance(item, MutableMapping):
                    raise
                # Of a class that is frozen, or that checks values; the item is the crawl's own copy.
                object.__setattr__(item, name, plain(value))
        elif self._is_news(item, name):
            line = "%s has no field %s, which would be set; to have it, add to the class: %s"
            logger.info(line, type(item).__name__, name, _declaration(item, name))

    def _is_news(self, item: Any, name: str) -> bool:
        known = (type(item), name) in self._told
        self._told.add((type(item), name))
        return not known


def _declaration(item: Any, name: str) -> str:
    """Return the line by which an item's class declares a field."""
    kind = "dict" if name == REPORT else "str"
    return f"{name} = scrapy.Field()" if isinstance(item, Item) else f"{name}: {kind} | None = None"


def lacks(item: Any, adapter: ItemAdapter, name: str) -> bool:
    """Say whether nobody gave an item a field, not even an empty one; a class may give each of its items None."""
    return name not in tuple(adapter) or (not isinstance(item, dict | Item) and adapter[name] is None)


def has_field(item: Any, name: str) -> bool:
    """Say whether a field can be set."""
    return isinstance(item, dict) or name in ItemAdapter(item).field_names()
