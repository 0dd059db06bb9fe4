"""Which of our components a project has switched on, and by what."""

from dataclasses import dataclass
from typing import Any, Final

from scrapy.settings import BaseSettings
from scrapy.utils.misc import load_object

from scrapy_dedup.plugin.addon import Addon
from scrapy_dedup.plugin.downloader_middleware import DedupDownloaderMiddleware
from scrapy_dedup.plugin.extension import DedupExtension
from scrapy_dedup.plugin.fingerprinter import Fingerprinter
from scrapy_dedup.plugin.item_pipeline import DedupPipeline
from scrapy_dedup.plugin.spider_middleware import DedupSpiderMiddleware

ADDONS_LINE: Final = 'ADDONS = {"scrapy_dedup.Addon": 700}'
_BY_HAND: Final = (
    ("DOWNLOADER_MIDDLEWARES", DedupDownloaderMiddleware),
    ("SPIDER_MIDDLEWARES", DedupSpiderMiddleware),
    ("ITEM_PIPELINES", DedupPipeline),
    ("EXTENSIONS", DedupExtension),
)
_FINGERPRINTER: Final = "REQUEST_FINGERPRINTER_CLASS"


@dataclass(frozen=True, slots=True)
class PlacedComponents:
    """Where our components stand."""

    by_addon: bool
    by_hand: tuple[str, ...] = ()
    """Settings in which the project has placed one of ours."""
    absent: tuple[str, ...] = ()
    """Settings in which none of ours stands, although the others are placed by hand."""

    @property
    def is_whole(self) -> bool:
        """Whether a crawl has all components."""
        return self.by_addon or bool(self.by_hand and not self.absent)


def placed(settings: BaseSettings) -> PlacedComponents:
    """Return where a project has placed our components."""
    if _has(settings, "ADDONS", Addon):
        return PlacedComponents(by_addon=True)
    found = {name: _has(settings, name, component) for name, component in _BY_HAND}
    found[_FINGERPRINTER] = _is(settings.get(_FINGERPRINTER), Fingerprinter)
    return PlacedComponents(
        by_addon=False,
        by_hand=tuple(name for name, is_there in found.items() if is_there),
        absent=tuple(name for name, is_there in found.items() if not is_there),
    )


def _has(settings: BaseSettings, name: str, component: type) -> bool:
    """Whether a setting of components by order has one; None as its order switches it off."""
    return any(_is(one, component) for one, order in settings.getdict(name).items() if order is not None)


def _is(one: Any, component: type) -> bool:
    try:
        found = load_object(one)
    except Exception:  # noqa: BLE001 (a component of somebody else; Scrapy tells what is wrong with it)
        return False
    return isinstance(found, type) and issubclass(found, component)
