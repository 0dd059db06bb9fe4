"""Put at the end of Scrapy's own `default_settings.py`, in a copy: the add-on in every crawler, a store for each test.

Commands that a test starts read it too. pytest names the test that runs in the environment, which they inherit.
"""

import os
import tempfile
import zlib
from pathlib import Path
from typing import Any, ClassVar

ADDONS = {f"{__name__}.Forced": 700}


class Forced:
    """The add-on, and a pipeline on either side of its own: what it adds to items is taken away again."""

    def update_settings(self, settings: Any) -> None:
        from scrapy_dedup import Addon  # noqa: PLC0415 - it reads Scrapy's settings, which are being made here
        from scrapy_dedup.plugin.addon import ITEM_PIPELINE_ORDER  # noqa: PLC0415

        Addon().update_settings(settings)
        for component, order in ((Before, ITEM_PIPELINE_ORDER - 1), (After, ITEM_PIPELINE_ORDER)):
            settings.setdefault_in_component_priority_dict("ITEM_PIPELINES", component, order)


class Before:
    """Item pipeline that keeps which fields an item has."""

    fields: ClassVar[dict[int, tuple[Any, set[str]]]] = {}

    def process_item(self, item: Any) -> Any:
        if isinstance(item, dict):
            # With the item itself, so that no other one gets its id.
            self.fields[id(item)] = item, set(item)
        return item


class After:
    """Item pipeline that takes out all other fields."""

    def process_item(self, item: Any) -> Any:
        _, fields = Before.fields.pop(id(item), (item, None))
        if fields is not None:
            for name in set(item) - fields:
                del item[name]
        return item


_own = tuple(globals())
_scrapys: Any = globals().get("__getattr__")


def __dir__() -> list[str]:
    return [*_own, "DEDUP_DATABASE_URL"]


def __getattr__(name: str) -> Any:
    """Return the store of the test that runs; asked for whenever settings are made."""
    if name != "DEDUP_DATABASE_URL":
        if _scrapys:
            return _scrapys(name)
        raise AttributeError(name)
    # A test may have put something else in place of `os.environ.get`.
    known = dict(os.environ)
    test = known.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    folder = Path(known.get("DEDUP_SUITE_STORES", tempfile.gettempdir()))
    return f"sqlite:///{folder / f'{zlib.crc32(test.encode()):08x}.db'}"
