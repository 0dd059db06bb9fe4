"""What the user chose: every DEDUP_ setting, declared once."""

from scrapy_dedup.settings.declared import PREFIX, SettingError, Settings
from scrapy_dedup.settings.markdown import as_markdown

__all__ = ["PREFIX", "SettingError", "Settings", "as_markdown"]
