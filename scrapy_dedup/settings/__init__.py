"""What the user chose: every DEDUP_ setting, declared once."""

from scrapy_dedup.settings.declared import COUNTING, LAYERS, NO_BOT_NAME, PARAMETERS, PREFIX, Settings
from scrapy_dedup.settings.parsers import SettingError

__all__ = ["COUNTING", "LAYERS", "NO_BOT_NAME", "PARAMETERS", "PREFIX", "SettingError", "Settings"]
