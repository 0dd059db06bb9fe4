# ruff: noqa: RUF001 (letters of other alphabets are meant)
"""How long ago something was, as pages write it: tomorrow they write another number of the same thing."""

import re
from typing import Final

_COUNT: Final = r"(?:\d{1,4}+\+?|an?|un[ae]?|uma?|einem|einer|einigen|wenigen)"
# Words that say so with a unit of time, which is named whole: "il y a 3 mois" is not "il y a 3 mots".
_BEFORE: Final = {
    "vor": "sek(?:unden?)?|min(?:uten?)?|std|stunden?|tag(?:en)?|wochen?|monat(?:en)?|jahr(?:en)?",
    "il y a": "s|secondes?|min|minutes?|h|heures?|j|jours?|semaines?|mois|ans?|années?",
    "hace": "segundos?|min|minutos?|h|horas?|días?|semanas?|mes(?:es)?|años?",
    "há": "segundos?|min|minutos?|h|horas?|dias?|semanas?|mês|meses|anos?",
    "před": "sekund(?:ou|ami)|minut(?:ou|ami)|hodin(?:ou|ami)|dnem|dny|týdn(?:em|y)|měsíc(?:em|i)|rok(?:em|y)|lety",
    "acum": "secund[eă]|minute?|or[eă]|zi|zile|săptămân[iă]|lun[iă]|ani?",
    "преди": "секунд[аи]|минут[аи]|часа?|дни|ден|седмиц[аи]|месеца?|годин[аи]",
    "πριν(?: από)?": "δευτερόλεπτ[οα]|λεπτ[όάα]|ώρ(?:α|ες)|η?μέρ(?:α|ες)|εβδομάδ(?:α|ες)|μήν(?:α|ες)|χρόνι?[οα]",
    "منذ": "ثانية|ثوان|ثواني|دقيقة|دقائق|ساعة|ساعات|يوم|أيام|أسبوع|أسابيع|شهر|أشهر|سنة|سنوات|عام",
    "לפני": "שניות|דקות|שעות|ימים|יום|שבועות|חודשים|שנים",
}
_AFTER: Final = {
    "ago": "s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|wks?|weeks?|mo|mos|months?|y|yrs?|years?",
    "geleden": "seconden?|min|minuut|minuten|uur|uren|dag|dagen|week|weken|maand|maanden|jaar",
    "fa": "second[oi]|min|minut[oi]|or[ae]|giorn[oi]|settiman[ae]|mes[ei]|ann[oi]",
    "temu": "sekund[ęy]?|min|minut[ęy]?|godz|godzin[ęy]?|dni|dzień|tydzień|tygodnie?|miesiące?|miesięcy|rok|lata?",
    "назад": "сек|секунд[уы]?|мин|минут[уы]?|час(?:а|ов)?|день|дн(?:я|ей)|недел[юиь]|месяц(?:а|ев)?|год(?:а)?|лет",
    "тому": "хв|хвилин[иу]?|годин[иу]?|день|дні|днів|тиж(?:день|ні|нів)|місяц[ьів]+|рік|роки|років",
    "sedan|siden": "sek(?:und(?:er)?)?|min|minut(?:t|ter|er)?|tim(?:m?ar|mer?|er?)|dag(?:ar|er|e)?"
    "|veck(?:a|or)|uker?|uger?|mån(?:ad|ader)|måned(?:er)?|år",
    "sitten": "sekuntia?|min|minuuttia?|tuntia?|päivää?|viikkoa?|kuukautta|kuukausi|vuotta|vuosi",
    "ezelőtt": "másodperc(?:cel)?|perccel|órával|nappal|héttel|hónappal|évvel",
    "yang lalu": "detik|menit|jam|hari|minggu|bulan|tahun",
    "atrás": "segundos?|min|minutos?|h|horas?|d[ií]as?|semanas?|mês|mes|meses|a[ñn]os?",
}
_UNIT_THEN_WORD: Final = "|".join(rf"(?:{units})\.?\s+(?:{word})" for word, units in _AFTER.items())
_ELAPSED: Final = re.compile(
    "|".join(
        [
            rf"\b{_COUNT}\s*(?:{_UNIT_THEN_WORD})(?!\w)",
            *(rf"\b{word}\s+{_COUNT}\s*(?:{units})(?!\w)" for word, units in _BEFORE.items()),
        ]
    ),
    re.IGNORECASE,
)
# Words that mean "before", too: "cancel 3 days before" is news when it was 7 days. Here the text says nothing else.
_ALONE: Final = re.compile(
    r"\d{1,2}\s?(?:秒|秒钟|秒鐘|分|分钟|分鐘|時間|小时|小時|日|天|週間|周|週|か月|ヶ月|个月|個月|年)前"
    r"|\d{1,2}\s?(?:초|분|시간|일|주|개월|달|년)\s?전"
    r"|\d{1,2}\s?(?:วินาที|นาที|ชั่วโมง|วัน|สัปดาห์|เดือน|ปี)\s?(?:ที่แล้ว|ที่ผ่านมา|ก่อน)"
    r"|\d{1,2}\s(?:saniye|dakika|saat|gün|hafta|ay|yıl)\sönce"
    r"|\d{1,2}\s(?:giây|phút|giờ|ngày|tuần|tháng|năm)\strước"
    r"|\d{1,2}\s(?:ثانیه|دقیقه|ساعت|روز|هفته|ماه|سال)\s(?:پیش|قبل)"
    r"|قبل\s\d{1,2}\s(?:ثانية|ثوان|دقيقة|دقائق|ساعة|ساعات|يوم|أيام|أسبوع|أسابيع|شهر|أشهر|سنة|سنوات)"
    r"|\d{1,2}\s(?:सेकंड|मिनट|घंटे|घंटा|दिन|सप्ताह|हफ़्ते|महीने|साल|वर्ष)\sपहले",
    re.IGNORECASE,
)
# In a longer text it is told.
_MOST_CHARS: Final = 100


def timeless(text: str) -> str:
    """Return a short text with `#` for how long ago something was; any other as it is."""
    if len(text) > _MOST_CHARS:
        return text
    return "#" if _ALONE.fullmatch(text) else _ELAPSED.sub("#", text)
