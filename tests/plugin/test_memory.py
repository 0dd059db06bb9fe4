"""Where callbacks may remember something, and what they hold that is no memory."""

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from scrapy import Spider
from scrapy.utils.test import get_crawler

from scrapy_dedup.plugin.memory import Memory, Seen
from scrapy_dedup.plugin.own_code import code_files, code_version

STATE = """
import contextvars

SEEN = {}

class Box:
    seen = set()

class Slotted:
    __slots__ = ("__seen",)
    def __init__(self):
        self.__seen = set()
    def first(self, sku):
        is_first = sku not in self.__seen
        self.__seen.add(sku)
        return is_first

class Own:
    def __init__(self):
        self.seen = set()
    def first(self, sku):
        return first(self.seen, sku)

def first(seen, sku):
    is_first = sku not in seen
    seen.add(sku)
    return is_first

box, slotted = Own(), Slotted()
"""
SPIDER = """
import collections, contextvars, functools, itertools, logging, random, re, sqlite3, sys, threading
from datetime import datetime
from decimal import Decimal
import scrapy
from scrapy.linkextractors import LinkExtractor
from itemloaders.processors import MapCompose, TakeFirst
from shopkeeping.state import first
import shopkeeping.state
{before}

class Shop(scrapy.Spider):
    name = "shop"
    {inside}

    def parse(self, response):
        sku = response
        {body}

    def closed(self, reason):
        self.logger.info(self.crawler.stats.get_value("item_scraped_count"))
"""
CHANGES: dict[str, dict[str, str]] = {
    "attribute": {"body": "return first(self.__dict__.setdefault('seen', set()), sku)"},
    "attributes-object": {
        "before": "from shopkeeping.state import Own",
        "inside": "def __init__(self, **kwargs):\n        self.own = Own()",
        "body": "return self.own.first(sku)",
    },
    "class-of-the-spider": {"inside": "seen = set()", "body": "return first(self.seen, sku)"},
    "class-of-a-helper": {"before": "from shopkeeping.state import Box", "body": "return first(Box.seen, sku)"},
    "class-that-a-function-imports": {"body": "from shopkeeping.state import Box\n        return first(Box.seen, sku)"},
    "number-of-a-class": {"before": "class Count:\n    n = 0", "body": "Count.n += 1\n        return Count.n == 1"},
    "module": {"before": "SEEN = set()", "body": "return first(SEEN, sku)"},
    "other-module": {"body": "return shopkeeping.state.SEEN.setdefault(sku, len(shopkeeping.state.SEEN)) == 0"},
    "deque-of-a-module": {"before": "SEEN = collections.deque()", "body": "SEEN.append(sku)"},
    "object-of-a-module": {"body": "return shopkeeping.state.box.first(sku)"},
    "object-with-slots": {"body": "return shopkeeping.state.slotted.first(sku)"},
    "object-by-any-name": {"body": "return getattr(sys.modules['shopkeeping.state'], 'bo' + 'x').first(sku)"},
    "bound-method": {"before": "once = shopkeeping.state.box.first", "body": "return once(sku)"},
    "bound-method-of-a-set": {"before": "add = set().add", "body": "add(sku)"},
    "partial": {"before": "once = functools.partial(first, set())", "body": "return once(sku)"},
    "default": {
        "inside": "def once(self, sku, seen=set()):\n        return first(seen, sku)",
        "body": "return self.once(sku)",
    },
    "default-by-name": {"before": "def once(sku, *, seen=set()):\n    return first(seen, sku)", "body": "once(sku)"},
    "closure": {
        "before": "def make():\n    seen = set()\n    return lambda sku: first(seen, sku)\nonce = make()",
        "body": "return once(sku)",
    },
    "number-of-a-closure": {
        "before": "def make():\n    n = 0\n    def count():\n        nonlocal n\n        n += 1\n    return count\n"
        "count = make()",
        "body": "count()",
    },
    "function": {
        "before": "def once(sku):\n    return first(once.seen, sku)\nonce.seen = set()",
        "body": "return once(sku)",
    },
    "decorator": {
        "before": "def counted(f):\n    seen = []\n    @functools.wraps(f)\n    def counting(*args):\n"
        "        seen.append(1)\n        return f(*args)\n    return counting",
        "inside": "@counted\n    def once(self):\n        pass",
        "body": "self.once()",
    },
    "lru-cache": {"before": "@functools.lru_cache\ndef cell(sku):\n    return [0]", "body": "cell(sku)[0] += 1"},
    "cached-property": {
        "inside": "@functools.cached_property\n    def seen(self):\n        return set()",
        "body": "return first(self.seen, sku)",
    },
    "count": {"before": "numbers = itertools.count()", "body": "return next(numbers)"},
    "iterator": {"before": "numbers = iter([1, 2, 3])", "body": "return next(numbers)"},
    "chance": {"before": "chance = random.Random(1)", "body": "return chance.random()"},
    "crawler": {"body": "return first(self.crawler.__dict__.setdefault('seen', set()), sku)"},
    "stats-as-a-bag": {"body": "return first(self.crawler.stats.__dict__.setdefault('bag', set()), sku)"},
    "setting": {"body": "self.settings['SPIDER_MODULES'].append(sku)"},
    "environment": {"before": "import os", "body": "os.environ['SHOP_SEEN'] = sku"},
    "library": {"body": "scrapy.seen = getattr(scrapy, 'seen', set())\n        return first(scrapy.seen, sku)"},
    "class-of-a-library": {"body": "scrapy.Spider.seen_by_all = {sku: 1}\n        return scrapy.Spider.seen_by_all"},
    "callbacks-of-an-attribute": {
        "inside": "def __init__(self, **kwargs):\n        seen = set()\n"
        "        self.once = lambda sku: first(seen, sku)",
        "body": "return self.once(sku)",
    },
    "spider-above": {"before": "class Base(scrapy.Spider):\n    seen = set()", "body": "return first(Base.seen, sku)"},
}
HIDES: dict[str, dict[str, str]] = {
    "connection": {"before": "db = sqlite3.connect(':memory:')", "body": "return db.execute('select 1')"},
    "connection-of-the-spider": {
        "inside": "def __init__(self, **kwargs):\n        self.db = sqlite3.connect(':memory:')",
        "body": "return self.db.execute('select 1')",
    },
    "context-variable": {"before": "SEEN = contextvars.ContextVar('SEEN', default=set())", "body": "return SEEN.get()"},
    "generator": {"before": "numbers = (n for n in range(9))", "body": "return next(numbers)"},
    "thread": {"before": "own = threading.local()", "body": "return own.__dict__"},
    "stats": {"body": "self.crawler.stats.inc_value(sku)\n        return self.crawler.stats.get_value(sku) == 1"},
    "stats-under-another-name": {
        "inside": "def __init__(self, **kwargs):\n        self.bag = kwargs.get('bag')\n\n    @classmethod\n"
        "    def from_crawler(cls, crawler):\n        return cls(bag=crawler.stats)",
        "body": "return self.bag.get_value(sku)",
    },
    "object-that-breaks": {
        "before": "class Broken:\n    def __getattr__(self, name):\n        raise RuntimeError(name)\n"
        "    __class__ = property(lambda self: 1 / 0)\nbroken = Broken()",
        "body": "return broken",
    },
    "too-much": {"inside": "many = [[] for _ in range(60_000)]"},
}
HARMLESS: dict[str, dict[str, str]] = {
    "nothing": {},
    "ordinary": {
        "before": "PRICE = re.compile('x')\nlogger = logging.getLogger(__name__)\nRATES = {'EUR': Decimal('1.1')}\n"
        "SINCE = datetime(2026, 1, 1)\nlinks = LinkExtractor(allow='/p/')\nclean = MapCompose(str.strip, lambda v: v)\n"
        "lock = threading.Lock()\ndef price(text):\n    with lock:\n"
        "        return RATES['EUR'] if PRICE.search(text) else 0",
        "inside": "rules = {'a': TakeFirst()}\n    custom_settings = {'A': 1}",
        "body": "logger.info(sku)\n        self.logger.info('%s', clean([sku]))\n"
        "        self.crawler.stats.inc_value('a')\n"
        "        return price(sku), self.settings.get('A'), links, SINCE",
    },
    "local-names": {"body": "seen = set()\n        seen.add(sku)\n        return [one for one in seen]"},
    "connection-that-callbacks-do-not-name": {
        "inside": "def __init__(self, **kwargs):\n        self.db = sqlite3.connect(':memory:')"
    },
    "cache-that-nobody-asks": {"before": "@functools.lru_cache\ndef cell(sku):\n    return [0]"},
    "what-a-library-holds": {"before": "from random import random", "body": "return random()"},
}


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ModuleType]]:
    """A package with a spider of one's own."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "shopkeeping").mkdir()

    def write(before: str = "", inside: str = "", body: str = "return sku") -> ModuleType:
        files = {"__init__": "", "state": STATE, "shop": SPIDER.format(before=before, inside=inside, body=body)}
        for name, code in files.items():
            (tmp_path / "shopkeeping" / f"{name}.py").write_text(code)
        return importlib.import_module("shopkeeping.shop")

    monkeypatch.setenv("SHOP_SEEN", "")
    yield write
    for name in [name for name in sys.modules if name.partition(".")[0] in {"shopkeeping", "helping"}]:
        del sys.modules[name]
    for owner, name in ((sys.modules["scrapy"], "seen"), (Spider, "seen_by_all")):
        if hasattr(owner, name):
            delattr(owner, name)


def looked_at(module: ModuleType, *calls: str) -> tuple[Seen, Seen]:
    """Return what is seen before and after calls of the callback."""
    crawler = get_crawler(module.Shop, {"SPIDER_MODULES": []})
    spider: Any = module.Shop.from_crawler(crawler)
    spider.crawler = crawler
    spider.settings = crawler.settings
    memory = Memory(spider)
    before = memory.look()
    for sku in calls:
        spider.parse(sku)
    return before, memory.look()


@pytest.mark.parametrize("case", CHANGES)
def test_change_is_seen_wherever_it_is(case: str, written: Callable[..., ModuleType]) -> None:
    module = written(**CHANGES[case])
    before, after = looked_at(module)
    assert after.changed(before) == []
    assert before.hidden == ()

    before, after = looked_at(module, "A1")

    assert len(after.changed(before)) == 1


@pytest.mark.parametrize("case", HIDES)
def test_what_may_change_unseen_is_told(case: str, written: Callable[..., ModuleType]) -> None:
    before, _ = looked_at(written(**HIDES[case]))

    assert len(before.hidden) == 1


@pytest.mark.parametrize("case", HARMLESS)
def test_ordinary_spider_has_no_memory(case: str, written: Callable[..., ModuleType]) -> None:
    before, after = looked_at(written(**HARMLESS[case]), "A1", "A2")

    assert before.hidden == after.hidden == ()
    assert after.changed(before) == []


HELP = {
    "beside": ("helping.py", "from helping import price", ""),
    "in-a-function": ("helping.py", "", "import helping"),
    "of-a-helper": ("helping/rates.py", "from helping import price", ""),
}


@pytest.mark.parametrize("case", HELP)
def test_edit_of_a_file_beside_the_package_is_another_code(
    case: str, written: Callable[..., ModuleType], tmp_path: Path
) -> None:
    edited, before, body = HELP[case]
    if "/" in edited:
        (tmp_path / "helping").mkdir()
        (tmp_path / "helping" / "__init__.py").write_text("from .rates import RATE\nprice = RATE")
    (tmp_path / edited).write_text("RATE = price = 1")
    kind = written(before=before, body=body or "return sku").Shop
    files = code_files(kind)
    first = code_version(files)

    assert tmp_path / edited in files
    assert code_version(code_files(kind)) == first
    (tmp_path / edited).write_text("RATE = price = 2")
    assert code_version(code_files(kind)) != first
