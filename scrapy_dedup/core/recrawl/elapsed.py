# ruff: noqa: RUF001 (letters of other alphabets are meant)
"""What pages say of when they are read: how long ago something was, how many look at it. Tomorrow it is another.

Words alone say so. That a number differs on all pages does not: so does what a shop has in stock, or a price without a
currency.
"""

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
# As a whole text alone.
_DAYS: Final = frozenset(
    "today|yesterday|just now|a moment ago|moments ago|heute|gestern|vorgestern|gerade eben|soeben|aujourd'hui"
    "|aujourd’hui"
    "|hier|avant-hier|à l'instant|à l’instant|hoy|ayer|anteayer|ahora mismo|oggi|ieri|l'altro ieri|poco fa|adesso"
    "|hoje|ontem"
    "|anteontem|agora mesmo|vandaag|gisteren|eergisteren|zojuist|dziś|dzisiaj|wczoraj|przedwczoraj|przed chwilą"
    "|сегодня"
    "|вчера|позавчера|только что|сьогодні|вчора|щойно|今日|昨日|一昨日|たった今|今天|昨天|前天|刚刚|剛剛|오늘|어제"
    "|방금|bugün"
    "|dün|az önce|şimdi|idag|i dag|igår|i går|nyss|nyligen|i gaar|netop|tänään|eilen|dnes|včera|právě teď|tegnap"
    "|azi|astăzi"
    "|hôm nay|hôm qua|vừa xong|hari ini|kemarin|baru saja|σήμερα|χθες|اليوم|أمس|الآن|היום|אתמול|आज|कल|วันนี้"
    "|เมื่อวาน".split("|")
)
_COUNTED: Final = r"\d++(?:[.,\u00a0\u202f' ]\d{3})*+(?:[.,]\d)?[kKmM]?"
_VIEWS: Final = (
    r"views?|reads?|page ?views?|aufrufe?|ansichten|vues?|visitas?|vistas|visualizaciones|visualizzazion[ei]"
    r"|visualizaç(?:ão|ões)|visitas|weergaven?|wyświetle(?:nie|nia|ń)|odsłon[ay]?|просмотр(?:а|ов|ы)?|прочтени[йя]"
    r"|перегляд(?:и|ів)?|回?閲覧|回視聴|ビュー|次?浏览|次?瀏覽|次?阅读|次?观看|浏览(?:量|次数)?|조회(?:수)?"
    r"|görüntülen?me|okunma|visning(?:ar|er)?"
    r"|katselukertaa|zobrazení|zhlédnutí|megtekintés|vizualizări|lượt xem|dilihat|προβολές|مشاهد(?:ة|ات)|צפיות"
)
_TIMES: Final = (
    rf"(?:viewed|read) {_COUNTED} times?|(?:{_COUNTED}) ?(?:mal|keer) (?:gelesen|angesehen|bekeken|gelezen)"
    rf"|gelesen: {_COUNTED}|(?:page impressions|zugriffe|visitors (?:today|online|so far)) ?: ?{_COUNTED}"
    rf"|you are (?:visitor|guest) (?:no\.|number|#) ?{_COUNTED}"
    rf"|(?:vu|lu) {_COUNTED} fois|(?:visto|leído) {_COUNTED} veces|(?:visto|letto) {_COUNTED} volte"
    rf"|visto {_COUNTED} vezes"
)
# "17 people are looking at this right now", as a sentence: a tour to watch birds for 12 persons is offered to as many.
_ENGLISH: Final = r"(?:other |more )?(?:people|persons?|others?|users?|visitors?|customers?|shoppers?|guests?)"
_LOOK: Final = r"(?:viewing|looking at|watching|browsing)"
_NOW: Final = r"(?:currently |now |also |right now )?"
_DID: Final = r"(?:bought|purchased|ordered|booked|viewed|visited|looked at|sold)"
_LAST: Final = r"(?:last|past) (?:\d{1,2} )?(?:minutes?|hours?|day)"
_AND_SO_ON: Final = r"\b[^\d]{0,60}"
_LOOKED_AT: Final = "|".join(
    (
        rf"{_COUNTED} {_ENGLISH} (?:is|are) {_NOW}{_LOOK}{_AND_SO_ON}",
        rf"{_COUNTED} {_ENGLISH} {_NOW}{_LOOK} (?:this|it|now|right now|the same){_AND_SO_ON}",
        rf"{_COUNTED} {_ENGLISH} (?:have|has) (?:this|it) in their (?:cart|basket|bag){_AND_SO_ON}",
        rf"{_COUNTED} (?:{_ENGLISH} (?:have )?)?{_DID}(?: this| it)?(?: [a-z]+)? in (?:the )?{_LAST}[.!]?",
        rf"{_COUNTED} (?:andere )?(?:Personen|Leute|Kunden|Nutzer|Besucher) (?:sehen|schauen|betrachten){_AND_SO_ON}",
        rf"{_COUNTED} (?:autres )?(?:personnes?|clients?|visiteurs?) (?:regardent|consultent){_AND_SO_ON}",
        rf"{_COUNTED} (?:otras )?(?:personas?|clientes|usuarios) est[áa]n? (?:viendo|mirando){_AND_SO_ON}",
        rf"{_COUNTED} (?:altre )?(?:person[ae]|utenti|clienti) st(?:anno|a) (?:guardando|vedendo){_AND_SO_ON}",
        rf"{_COUNTED} (?:outras )?(?:pessoas?|clientes) est(?:ão|á) (?:vendo|olhando|a ver){_AND_SO_ON}",
        rf"{_COUNTED} (?:andere )?(?:mensen|personen|klanten|anderen) (?:bekijken|kijken){_AND_SO_ON}",
        rf"{_COUNTED} os(?:ób|oby|oba) (?:teraz )?(?:ogląda(?:ją)?|przegląda(?:ją)?){_AND_SO_ON}",
        rf"{_COUNTED} (?:человека?|пользовател[ьяей]+) (?:сейчас )?(?:смотр[яи]т|просматрива\w+){_AND_SO_ON}",
        rf"(?:сейчас )?(?:смотр[яи]т|просматривают) {_COUNTED} (?:человека?|пользовател[ьяей]+)",
        rf"{_COUNTED} kişi [^\d]{{0,40}}(?:bakıyor|inceliyor|görüntülüyor)",
        rf"{_COUNTED} (?:personer|kunder) (?:tittar|ser på){_AND_SO_ON}",
        rf"{_COUNTED} lid(?:í|é) (?:si )?(?:to )?(?:právě )?prohlíží{_AND_SO_ON}",
        rf"{_COUNTED} người đang xem{_AND_SO_ON}",
        rf"{_COUNTED} ?人が[^\d]{{0,20}}(?:閲覧|見て)[^\d]{{0,10}}",
        rf"{_COUNTED} ?人正在(?:看|浏览|查看|观看|瀏覽|觀看)[^\d]{{0,20}}",
        rf"{_COUNTED} ?명이 [^\d]{{0,20}}(?:보고|구경)[^\d]{{0,10}}",
    )
)
# What a server says of its answer; a time without a fraction may be that of a recipe.
_SECONDS: Final = r"(?:\d+[.,]\d+ ?(?:s|sec(?:ond)?s?|sek(?:unden)?|secondes?)|\d+(?:[.,]\d+)? ?(?:ms|milliseconds?))"
_ANSWER: Final = (
    rf"(?:this )?page (?:was )?(?:generated|rendered|loaded|served|created|processed) in {_SECONDS}"
    r"(?:,? (?:with|using|and) \d+ (?:[a-z]+ )?quer(?:y|ies))?\.?"
    rf"|page (?:load|generation) time ?: ?{_SECONDS}\.?"
    rf"|(?:diese )?seite (?:wurde )?in {_SECONDS} (?:erzeugt|erstellt|generiert|geladen)\.?"
    rf"|page générée en {_SECONDS}\.?"
    r"|(?:(?:request|trace|correlation|ray)[ -]?id) ?[:#]? ?(?=[\w.-]*[a-f])[\w.-]{8,64}"
)
_WATCHED: Final = re.compile(
    rf"{_COUNTED} ?(?:{_VIEWS})|(?:{_VIEWS}) ?[:：] ?{_COUNTED}|{_TIMES}|{_LOOKED_AT}|{_ANSWER}", re.IGNORECASE
)
_STAMP: Final = (
    r"(?:last |page |this page was |documentation )*"
    r"(?:updated?|modified|generated|refreshed|edited|update|revised)(?: on| at)?"
    r"|(?:zuletzt |letzte )?(?:aktualisiert|geändert|bearbeitet|aktualisierung|änderung)(?: am)?|stand"
    r"|(?:dernière )?(?:mise? à jour|modification|modifié)(?: le)?|(?:última )?(?:actualización|actualizado"
    r"|modificación)(?: el)?"
    r"|(?:ultimo |ultima )?(?:aggiornamento|aggiornato|modifica)(?: il)?|(?:última )?(?:atualização|atualizado"
    r"|modificação)(?: em)?"
    r"|(?:laatst |laatste )?(?:bijgewerkt|gewijzigd|wijziging|update)(?: op)?|(?:ostatnia )?(?:aktualizacja"
    r"|zaktualizowano|modyfikacja)"
    r"|(?:последнее )?(?:обновлен[оие]+|изменен[оие]+|обновление)|(?:останнє )?оновлен(?:о|ня)|最終更新日?時?"
    r"|更新日時?|更新(?:时间|時間|于|於)?"
    r"|最后更新|最後更新|최종 ?수정일?|업데이트|수정일|(?:son )?(?:güncelleme|güncellendi)|(?:senast |sidst "
    r"|sist )?(?:uppdatera[dt]|ändra[dt]|opdateret"
    r"|oppdatert)|päivitetty|(?:poslední )?aktualizace|aktualizováno|frissítve|ultima actualizare"
    r"|actualizat(?: la)?|cập nhật(?: lần cuối)?"
    r"|diperbarui|τελευταία ενημέρωση|آخر تحديث|עודכן|แก้ไขล่าสุด|अपडेट"
)
_DAY: Final = (
    r"(?:\d{4}[-/.]\d\d?[-/.]\d\d?|\d\d?[./-] ?\d\d?[./-] ?\d{4}|\d{4}年 ?\d\d?月 ?\d\d?日|\d{4}년 ?\d\d?월 ?\d\d?일"
    r"|\d\d?\.? (?:de )?[^\W\d]{3,12}\.?,? (?:de )?\d{4}|[^\W\d]{3,12}\.? \d\d?(?:st|nd|rd|th)?,? \d{4})"
)
_STAMPED: Final = re.compile(
    rf"(?:{_STAMP})[ :：]{{0,3}}(?:[^\W\d]{{2,10}},? )?{_DAY}(?:[T, ]{{0,3}}(?:um|at|à|a las|alle|kl\.?|o"
    rf"|-)? ?\d\d?[:.]\d\d(?:[:.]\d\d)?"
    r"(?: ?[AaPp]\.?[Mm]\.?)?(?: ?(?:[A-Z]{2,4}|Uhr))?)?\.?",
    re.IGNORECASE,
)
_YEARS: Final = r"(?:(?:19|20)\d\d\s?[-–—]\s?)?(?:19|20)\d\d\b"
# Right after the sign or, where nothing follows that says more, after a name. Other years are facts.
_COPYRIGHT: Final = re.compile(
    rf"((?:©|\(c\)|\bcopyright\b)[\s:,]*(?:©|\(c\))?\s*){_YEARS}"
    rf"|(©[^\d]{{1,40}}){_YEARS}(?=[\s.|]*(?:all rights reserved)?\.?$)",
    re.IGNORECASE,
)
_DIGIT: Final = re.compile(r"\d")
# In a longer text it is told.
_MOST_CHARS: Final = 100


def timeless(text: str) -> str:
    """Return a short text with `#` for what it says of when it is read; any other as it is.

    How long ago something was, how many have read it or look at it now, on what day it was last written, how long it
    took to answer, and until which year rights are claimed.
    """
    if len(text) > _MOST_CHARS:
        return text
    if _DIGIT.search(text) is None:
        is_all = text.casefold() in _DAYS
    else:
        is_all = any(one.fullmatch(text) for one in (_ALONE, _WATCHED, _STAMPED))
        before, point, last = text.rpartition(". ")
        if point and _STAMPED.fullmatch(last):
            text = f"{before}. #"
        text = _COPYRIGHT.sub(lambda found: f"{found[1] or found[2]}#", text)
    return "#" if is_all else _ELAPSED.sub("#", text)
