"""What the user chose: every DEDUP_ setting, declared once."""

from scrapy_dedup.settings.cleaning import LAYERS
from scrapy_dedup.settings.declared import PREFIX, Settings
from scrapy_dedup.settings.markdown import as_markdown
from scrapy_dedup.settings.refusals import SettingError

__all__ = ["LAYERS", "PREFIX", "SettingError", "Settings", "as_markdown"]
