"""What the user chose: every DEDUP_ setting, declared once."""

from scrapy_dedup.settings.declared import LAYERS, NO_BOT_NAME, PREFIX, SettingError, Settings, as_markdown

__all__ = ["LAYERS", "NO_BOT_NAME", "PREFIX", "SettingError", "Settings", "as_markdown"]
