"""Formulas as text, once each: MathML holds them as elements and as TeX, and a drawing for the eye stands beside it."""

import re
from collections.abc import Iterator
from typing import Final

_TEX = re.compile(
    r'<annotation [^<>]{0,300}?encoding="(?:application/x-tex|tex|latex)"[^<>]{0,300}>([^<]*)<', re.IGNORECASE
)
_ELSE = re.compile(r"<annotation(?:-xml)?[ >].*\Z", re.DOTALL)
_TAGS = re.compile(r"<[^>]*>")
_BETWEEN_NUMBERS = re.compile(r"(?<=\d)\s*+(?:<[^>]*+>\s*+)++(?=\d)")
# What scripts, styles and comments say of formulas and elements is none.
_SAID = r"<!--.*?(?:-->|\Z)|<(script|style|noscript|textarea|iframe|xmp|noembed|noframes)[ >].*?(?:</\1>|\Z)"
_FORMULA = re.compile(rf"{_SAID}|(<math[ >].*?)(?:</math>|\Z)", re.DOTALL)
_STYLE = re.compile(r"\s*\{\\displaystyle\s+(.*)\}\s*", re.DOTALL)
# What is shown in place of the formula to those who can see, and said to be nothing for those who hear.
_DRAWING = re.compile(r'((?:</span>){0,3}+)<span [^<>]{0,300}?aria-hidden="true"[^<>]{0,300}>')
_PART = re.compile(rf"{_SAID}|<(/?)(?:span|div)[ >]", re.DOTALL)
_DEEPER: Final = {None: 0, "": 1, "/": -1}


def with_formulas_as_text(body: str) -> str:
    """Return a serialised body in which each `math` element is its TeX, or else its text, without a second drawing."""
    return "".join(_parts(body)) if "<math" in body else body


def _parts(body: str) -> Iterator[str]:
    at = 0
    for found in _FORMULA.finditer(body):
        if found[2] is None or found.start() < at:
            continue
        yield body[at : found.start()]
        yield _text(found[2])
        at = found.end()
        if drawing := _DRAWING.match(body, at):
            yield drawing[1]
            at = _after(body, drawing.end())
    yield body[at:]


def _text(formula: str) -> str:
    tex = _TEX.search(formula)
    if tex and tex[1].strip():
        styled = _STYLE.fullmatch(tex[1])
        return (styled[1] if styled else tex[1]).strip()
    # "1" over "2" is not twelve.
    return _TAGS.sub("", _BETWEEN_NUMBERS.sub(" ", _ELSE.sub("", formula)))


def _after(body: str, at: int) -> int:
    """Return where an element ends whose start tag ended at a place; that place where no end is found."""
    depth = 1
    for part in _PART.finditer(body, at):
        depth += _DEEPER[part[2]]
        if not depth:
            return body.index(">", part.start()) + 1
    return at
