"""Pages of many domains, made from their numbers alone: any number of them, and the same each time.

A page has about a hundred blocks in 4 to 6 kB: its domain's menu and footer, teasers, and words of its own, in one of
three layouts. Of a hundred pages of a domain one copies an earlier one, one nearly does, and one names an earlier one
as its canonical page.
"""

import random
from dataclasses import dataclass
from functools import lru_cache

_SYLLABLES = "ba ce di fo gu la me ni po ru sa te vi zo ka le mi no pu ra".split()
WORDS = tuple(a + b + c for a in _SYLLABLES for b in _SYLLABLES for c in _SYLLABLES)
LAYOUTS = ("news", "shop", "guide")
_MENU, _FOOTER, _TEASERS, _LINES = 30, 20, 10, 24
_COPY, _NEAR, _ALIAS = 37, 61, 83
"""Which of a hundred pages of a domain are not new."""
_BACK = 30
"""So many pages before is the one that they repeat."""


@dataclass(frozen=True, slots=True)
class MadePage:
    """One page's place: the domain's number, and its own within the domain."""

    domain: int
    number: int

    @property
    def url(self) -> str:
        """Where it is."""
        words = _words(self, salt=1)
        slug = "-".join(words.choices(WORDS, k=3))
        layout = LAYOUTS[self.number % len(LAYOUTS)]
        return f"https://site{self.domain}.example/{layout}/{slug}-{self.number}"

    @property
    def original(self) -> "MadePage":
        """The page whose text it has; mostly itself."""
        is_repeated = self.number > _BACK and self.number % 100 in (_COPY, _NEAR, _ALIAS)
        return MadePage(self.domain, self.number - _BACK) if is_repeated else self

    def html(self) -> str:
        """Return the page."""
        original = self.original
        kind = self.number % 100 if original is not self else None
        chosen = _words(original, salt=2)
        lines = [" ".join(chosen.choices(WORDS, k=10)) for _ in range(_LINES)]
        title = " ".join(chosen.choices(WORDS, k=5)).capitalize()
        if kind == _NEAR:
            lines[-1] = f"Seen {self.number} times"
            title += f" {self.number}"
        canonical = f'<link rel=canonical href="{original.url}">' if kind == _ALIAS else ""
        menu, footer, teasers = _frame(self.domain)
        shown = "".join(chosen.choices(teasers, k=_TEASERS))
        body = _BODIES[LAYOUTS[self.number % len(LAYOUTS)]](title, lines, shown)
        return (
            f"<!doctype html><html lang=en><head><meta charset=utf-8><title>{title}</title>{canonical}</head><body>"
            f"{menu}{body}{footer}</body></html>"
        )


def _words(page: MadePage, *, salt: int) -> random.Random:
    return random.Random((page.domain << 40) | (page.number << 4) | salt)


@lru_cache(maxsize=1_000)
def _frame(domain: int) -> tuple[str, str, tuple[str, ...]]:
    """Return what the pages of a domain share: menu, footer, and the teasers of which each shows some."""
    chosen = random.Random(domain)
    menu = "".join(f"<li><a href=/m/{n}>{' '.join(chosen.choices(WORDS, k=2))}</a></li>" for n in range(_MENU))
    footer = "".join(f"<p>{' '.join(chosen.choices(WORDS, k=4))}</p>" for _ in range(_FOOTER))
    teasers = tuple(f"<li><a href=/t/{n}>{' '.join(chosen.choices(WORDS, k=4))}</a></li>" for n in range(500))
    return f"<header><nav><ul>{menu}</ul></nav></header>", f"<footer>{footer}</footer>", teasers


def _news(title: str, lines: list[str], teasers: str) -> str:
    text = "".join(f"<p>{line}.</p>" for line in lines)
    return f"<main><article><h1>{title}</h1>{text}</article></main><aside><ul>{teasers}</ul></aside>"


def _shop(title: str, lines: list[str], teasers: str) -> str:
    rows = "".join(f"<tr><th>{line[:9]}</th><td>{line[9:]}</td></tr>" for line in lines[:12])
    text = "".join(f"<p>{line}.</p>" for line in lines[12:])
    return (
        f"<div class=product><h1>{title}</h1><table>{rows}</table><div class=about>{text}</div></div>"
        f"<div class=others><ul>{teasers}</ul></div>"
    )


def _guide(title: str, lines: list[str], teasers: str) -> str:
    parts = "".join(f"<section><h2>{line[:20]}</h2><p>{line[20:]}.</p></section>" for line in lines)
    return f"<div class=side><ul>{teasers}</ul></div><div class=content><h1>{title}</h1>{parts}</div>"


_BODIES = {"news": _news, "shop": _shop, "guide": _guide}
