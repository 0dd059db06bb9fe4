"""Formulas as text, once each: MathML holds them as elements and as TeX, and a drawing for the eye stands beside it."""

import re
from collections.abc import Iterator

_TEX = re.compile(
    r'<annotation [^<>]{0,300}?encoding="(?:application/x-tex|tex|latex)"[^<>]{0,300}>([^<]*)<', re.IGNORECASE
)
_ELSE = re.compile(r"<annotation(?:-xml)?[ >].*\Z", re.DOTALL)
_TAGS = re.compile(r"<[^>]*>")
_STYLE = re.compile(r"\s*\{\\displaystyle\s+(.*)\}\s*", re.DOTALL)
# What is shown in place of the formula to those who can see, and said to be nothing for those who hear.
_DRAWING = re.compile(r'((?:\s*+</(?:span|div)>){0,3}+\s*+)<(?:span|div) [^<>]{0,300}?aria-hidden="true"[^<>]{0,300}>')
_PART = re.compile(r"<(/?)(?:span|div)[ >]")


def with_formulas_as_text(body: str) -> str:
    """Return a serialised body in which each `math` element is its TeX, or else its text, without a second drawing."""
    return "".join(_parts(body)) if "<math" in body else body


def _parts(body: str) -> Iterator[str]:
    at = 0
    while (start := body.find("<math", at)) >= 0 and (end := body.find("</math>", start)) >= 0:
        yield body[at:start]
        yield _text(body[start:end])
        at = end + len("</math>")
        drawing = _DRAWING.match(body, at)
        if drawing:
            yield drawing[1]
            at = _after(body, drawing.end())
    yield body[at:]


def _text(formula: str) -> str:
    tex = _TEX.search(formula)
    if tex and tex[1].strip():
        styled = _STYLE.fullmatch(tex[1])
        return (styled[1] if styled else tex[1]).strip()
    return _TAGS.sub("", _ELSE.sub("", formula))


def _after(body: str, at: int) -> int:
    """Return where an element ends whose start tag ended at a place."""
    depth = 1
    for part in _PART.finditer(body, at):
        depth += -1 if part[1] else 1
        if not depth:
            return body.index(">", part.start()) + 1
    return len(body)
