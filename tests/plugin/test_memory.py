"""Where callbacks may remember something, and what they hold that is no memory."""

import importlib
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest
from scrapy import Spider
from scrapy.utils.test import get_crawler

from scrapy_dedup.plugin.recrawl.memory import Seen, SpiderMemory, code_files, code_version
from tests.tables import FOLDER, table

CODE = FOLDER / "reuse"


@pytest.fixture
def written(tmp_path, monkeypatch) -> Iterator[Callable[..., ModuleType]]:
    """A package with a spider of one's own."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "shopkeeping").mkdir()

    def write(before: str = "", inside: str = "", body: str = "return sku") -> ModuleType:
        shop = (CODE / "shop.txt").read_text().format(before=before, inside=inside, body=body)
        files = {"__init__": "", "state": (CODE / "state.txt").read_text(), "shop": shop}
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
    memory = SpiderMemory(spider)
    before = memory.look()
    for sku in calls:
        spider.parse(sku)
    return before, memory.look()


@table("reuse/changes")
def test_change_is_seen_wherever_it_is(written, before, inside, body):
    module = written(before, inside, body)
    first, after = looked_at(module)
    assert after.changed(first) == []
    assert first.hidden == ()

    first, after = looked_at(module, "A1")

    assert len(after.changed(first)) == 1


@table("reuse/hides")
def test_what_may_change_unseen_is_told(written, before, inside, body):
    first, _ = looked_at(written(before, inside, body))

    assert len(first.hidden) == 1


@table("reuse/harmless")
def test_ordinary_spider_has_no_memory(written, before, inside, body):
    first, after = looked_at(written(before, inside, body), "A1", "A2")

    assert first.hidden == after.hidden == ()
    assert after.changed(first) == []


HELP = {
    "beside": ("helping.py", "from helping import price", ""),
    "in-a-function": ("helping.py", "", "import helping"),
    "of-a-helper": ("helping/rates.py", "from helping import price", ""),
}


@pytest.mark.parametrize("case", HELP)
def test_edit_of_a_file_beside_the_package_is_another_code(case, written, tmp_path):
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
