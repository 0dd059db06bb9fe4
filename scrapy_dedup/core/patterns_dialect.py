"""An expression as it is written for Python, in the words of RE2."""

from typing import Final

# Python's classes know all scripts, those of RE2 only ASCII: white space of the web is often no-break.
_SPACES: Final = r"\s\x0b\x1c-\x1f\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}"
_CLASSES: Final = {"s": _SPACES, "d": r"\p{Nd}", "w": r"\pL\pN_"}
_WITHIN: Final = {**_CLASSES, "D": r"\P{Nd}"}
_OUTSIDE: Final = (
    {name: f"[{members}]" for name, members in _CLASSES.items()}
    | {name.upper(): f"[^{members}]" for name, members in _CLASSES.items()}
    | {"Z": r"\z"}
)
_HEX_DIGITS: Final = {"u": 4, "U": 8}


def to_re2(source: str) -> str:
    r"""Return the expression for RE2: `\s`, `\d` and `\w` with all scripts, `\Z` and `\u00e9` as it spells them.

    Word boundaries stay those of ASCII, as do `\S` and `\W` among the members of a class.
    """
    parts: list[str] = []
    place, class_from = 0, -1
    while place < len(source):
        letter = source[place]
        if letter == "\\":
            written, place = _escape(source, place + 1, within=class_from >= 0)
            parts.append(written)
            continue
        if class_from < 0 and letter == "[":
            class_from = place + 1 + source.startswith("^", place + 1)
        elif letter == "]" and class_from >= 0 and place > class_from:
            class_from = -1
        parts.append(letter)
        place += 1
    return "".join(parts)


def _escape(source: str, place: int, *, within: bool) -> tuple[str, int]:
    """Return what stands for a backslash and what follows, and the place behind."""
    name = source[place : place + 1]
    digits = source[place + 1 : place + 1 + _HEX_DIGITS.get(name, 0)]
    if name in _HEX_DIGITS and len(digits) == _HEX_DIGITS[name]:
        return f"\\x{{{digits}}}", place + 1 + len(digits)
    known = _WITHIN if within else _OUTSIDE
    return known.get(name, f"\\{name}"), place + 1
