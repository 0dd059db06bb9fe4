"""What the user chose: every DEDUP_ setting, declared once."""

from scrapy_dedup.settings.declared import LAYERS, PREFIX, SettingError, Settings, as_markdown

__all__ = ["LAYERS", "PREFIX", "SettingError", "Settings", "as_markdown"]
