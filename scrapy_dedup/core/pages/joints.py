"""Words that only a style sheet holds apart: `<span>4.5</span><span>120 reviews</span>` is no number of four digits."""

import re
from typing import Final

from scrapy_dedup.core.pages.tags import VOID, name_and_attributes

# What else is inline is raised, lowered, code, or a part of a word.
_NAMES: Final = frozenset("a b big bdi cite del em font i ins label mark s small span strike strong time u".split())
_TAG: Final = rf"/?(?:{'|'.join(sorted(_NAMES))})(?:\s[^>]*+)?+>|>|/>"
_SIGNS: Final = "$\u00a2-\u00a5\u20a0-\u20cf"
# Looked for in all texts: it begins with what is rare.
_JOINT: Final = re.compile(rf"<(?<=[^\W_]<|[{_SIGNS}]<)(?:{_TAG})(?:<(?:{_TAG}))*+(?=[^\W_]|[{_SIGNS}]\s?\d)")
# Within these every character is meant as it stands.
_LITERAL: Final = re.compile("<(?:code|kbd|samp|var)[ >]")
_TAGS: Final = re.compile("<([^>]*+)>")
_FIRST: Final = re.compile(rf"[^\W_]{{1,3}}|[{_SIGNS}](?=\s?\d)")
_LAST: Final = re.compile(rf"(?:[^\W_]{{1,3}}|[{_SIGNS}])\Z")
# Exporters of office programs number their classes, which say nothing.
_TELLING: Final = re.compile("[a-z]{3}", re.IGNORECASE)
_DIGITS: Final = re.compile(r"\d+")
# Beside any other element, too, one of these is a thing of its own.
_THINGS: Final = frozenset({"a", "label", "time"})
# Without attributes these stress a part: no word of 13,571 real pages is plainly set apart where one begins or ends.
# Bold type ends where a heading runs into its text.
_LIGHTLY: Final = frozenset({"del", "em", "i", "ins", "mark", "u"})
_STRESSED: Final = _LIGHTLY | {"b", "strong"}


def apart(source: str) -> str:
    """Return serialised text with a blank where inline elements meet that hold words or numbers of their own.

    That is where capitals follow small letters, where letters and numbers meet, and where two links or elements of two
    classes do. A word of which a part is stressed stays one.
    """
    if _JOINT.search(source) is None or _LITERAL.search(source):
        return source
    bits = _TAGS.split(source)
    opened: list[str] = []
    # The last text; what ended and began since then, outermost, and behind which text a blank would stand. What both
    # began and ended since then holds nothing.
    last = ended = begun = ""
    gap = outside = 0
    for place, bit in enumerate(bits):
        if place % 2 == 0:
            if bit:
                if last and _are_two(last, bit, ended, begun):
                    bits[gap] = f" {bit}" if gap == place else f"{bits[gap]} "
                last, ended, begun, gap = bit, "", "", place
            continue
        name = bit.strip("/").partition(" ")[0]
        if name in VOID or (name and name not in _NAMES):
            last = ""
        if bit[:1] == "/":
            closed = opened.pop() if opened and name else ""
            if begun and len(opened) >= outside:
                begun = begun if len(opened) > outside else ""
            elif name:
                ended, gap = closed or name, place + 1
        elif name and name not in VOID:
            if not begun:
                begun, outside = bit, len(opened)
            opened.append(bit)
    return "".join(bit if place % 2 == 0 else f"<{bit}>" for place, bit in enumerate(bits))


def _are_two(before: str, behind: str, ended: str, begun: str) -> bool:
    """Tell whether what stands before a joint and behind it are two words."""
    one, other = _LAST.search(before[-3:]), _FIRST.match(behind[:4])
    if one is None or other is None or not (ended or begun):
        return False
    end, begin = one[0][-1], other[0][0]
    is_word = len(one[0]) > 1
    if not (end.isalnum() and begin.isalnum()):
        return end.isalnum() or begin.isalpha()
    if (not ended and begun in _STRESSED) or (not begun and ended in _LIGHTLY):
        return False
    if begin.isupper() and (end.isdigit() or end.islower() or (ended and begun and end.isupper())):
        return len(other[0]) > 1 and (is_word or end.isdigit())
    if begin.isdigit() and end.isalpha():
        # A note's number is part of the text that it stands in.
        return is_word and (bool(ended) or not begun.startswith("a "))
    is_number = begin.isdigit() and (is_word or len(other[0]) > 1)
    return bool(ended and begun) and (is_number or ((is_word or end.isdigit()) and _differ(ended, begun)))


def _differ(ended: str, begun: str) -> bool:
    """Tell whether two elements are two links, or of two classes."""
    (one, attributes), (other, others) = name_and_attributes(ended), name_and_attributes(begun)
    if one != other:
        return one in _THINGS or other in _THINGS
    if one == "a":
        return attributes.get("href") != others.get("href")
    classes = [_DIGITS.sub("", given.get("class", "")) for given in (attributes, others)]
    return classes[0] != classes[1] and all(map(_TELLING.search, classes))
