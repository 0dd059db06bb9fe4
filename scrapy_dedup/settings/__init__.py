"""What the user chose: every DEDUP_ setting, declared once."""

from scrapy_dedup.settings.declared import COUNTING, NO_BOT_NAME, PARAMETERS, Settings
from scrapy_dedup.settings.parsers import LAYERS, PREFIX, SettingError, public_name

__all__ = ["COUNTING", "LAYERS", "NO_BOT_NAME", "PARAMETERS", "PREFIX", "SettingError", "Settings", "public_name"]
