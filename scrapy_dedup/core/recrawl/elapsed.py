"""How long ago something was, as pages write it: tomorrow they write another number of the same thing."""

import re
from typing import Final

_COUNT: Final = r"(?:\d+\+?|an?|un[ae]?|uma?|einem|einer|einigen|wenigen)"
# Words that stand before the time, and mean no more than "before" elsewhere, with how its units begin.
_BEFORE: Final = {
    "vor": "sek|min|st|tag|woche|monat|jahr",
    "il y a": "s|min|h|j|mois|an",
    "hace": "s|min|h|d|mes|año",
    "há": "s|min|h|d|mês|mes|ano",
    "před": "sek|min|hod|d|týd|měs|rok|let",
    "acum": "sec|min|or|zi|săpt|lun|an",
    "πριν(?: από)?": "δευ|λεπ|ώρ|ημέ|μέρ|εβδ|μήν|χρ",
    "(?:منذ|قبل)": "ثان|ثوان|دق|ساع|يوم|أيام|أسب|أساب|شهر|أشهر|سن|عام",
    "לפני": "שני|דק|שע|ימ|יום|שבוע|חודש|שנ",
}
_AFTER: Final = "ago|geleden|fa|temu|назад|тому|преди|önce|trước|yang lalu|پیش|قبل|पहले|sedan|siden|sitten|ezelőtt|atrás"
_ELAPSED: Final = re.compile(
    "|".join(
        [
            rf"\b{_COUNT}\s*[^\W\d]\S*\s+(?:{_AFTER})(?!\w)",
            r"\d+\s?(?:秒|分|分钟|分鐘|時間|小时|小時|日|天|週間|周|週|か月|ヶ月|个月|個月|年)前",
            r"\d+\s?(?:초|분|시간|일|주|개월|달|년)\s?전",
            r"\d+\s*[^\s\d]+?(?:ที่แล้ว|ที่ผ่านมา|ก่อน)",
            *(rf"\b{word}\s+{_COUNT}\s*(?:{units})\w*" for word, units in _BEFORE.items()),
        ]
    ),
    re.IGNORECASE,
)
# In a longer text it is told.
_MOST_CHARS: Final = 100


def timeless(text: str) -> str:
    """Return a short text with `#` for how long ago something was; any other as it is."""
    return _ELAPSED.sub("#", text) if len(text) <= _MOST_CHARS else text
