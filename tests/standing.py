"""Sites of which some pages may stand for others, and which pages go out, whoever reads them: crawl, files or Spark."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from tests.sites import FOOTER, html_page, prose

SETTINGS: Final[dict[str, Any]] = {
    "near_duplicate": "drop",
    "near_duplicate_scope": "domain",
    "boilerplate_css_selectors": (".own",),
}
"""Somebody's selector takes what tells products apart; sites have nothing to do with each other."""
LAYERS: Final = ("canonical", "title", "duplicate", "near_duplicate")
SHORT: Final = "A caption of a dozen words that two pictures of one album share."
KNOWN: Final = {f"other{number}": html_page(f"other {number}") for number in range(6)}
"""Enough other pages for a site to be known."""
LINK: Final = '<link rel="canonical" href="/a">'


class Case(NamedTuple):
    """One site."""

    pages: Mapping[str, str]
    """In the order in which they are read."""
    out: str
    """Of the pages that may stand for each other those that go out: one letter each."""
    counts: Mapping[str, int]


def page(title: str, own: str = "", text: str = "", head: str = "") -> str:
    """Return a page of which a cut takes what is its own."""
    body = f"<h1>Harbour</h1><p>{text or prose('harbour')}</p><div class='own'><p>{own or 'Sold here.'}</p></div>"
    return html_page(title, head=head, body=body)


def _case(out: str, counts: Mapping[str, int], *, is_known: bool = True, **pages: str) -> Case:
    return Case(pages | (KNOWN if is_known else {}), out, counts)


ONE: Final = {"duplicate/dropped": 1}
MARKED: Final = {"near_duplicate/marked": 1}
NONE: Final = MARKED | {"duplicate/unproven": 1}
# One text long enough that a word, or a number, makes it nearly another.
LONG: Final = prose("long", 30)

CASES: Final[Mapping[str, Case]] = {
    "same-text": _case("a", ONE, a=page("A"), b=page("B")),
    "same-title-and-text": _case("a", {"title/dropped": 1}, a=page("A"), b=page("A", head="<!-- other bytes -->")),
    "without-the-site's-footer": _case("a", ONE, a=page("A"), b=page("B").replace(FOOTER, "")),
    "another-text-that-a-cut-took": _case("ab", NONE, a=page("A", "By crane."), b=page("B", "By rail.")),
    "another-number-that-a-cut-took": _case("ab", NONE, a=page("A", "Costs 10."), b=page("B", "Costs 12.")),
    "same-title-another-number": _case(
        "ab", MARKED | {"title/unproven": 1}, a=page("A", "Costs 10."), b=page("A", "Costs 12.")
    ),
    "too-few-words": _case("ab", NONE, a=page("A", text=SHORT), b=page("B", text=SHORT)),
    "too-few-words-same-bytes": _case("a", {"title/dropped": 1}, a=page("A", text=SHORT), b=page("A", text=SHORT)),
    "site-not-known": _case("ab", NONE, is_known=False, a=page("A"), b=page("B")),
    "site-not-known-same-bytes": _case("a", {"title/dropped": 1}, is_known=False, a=page("A"), b=page("A")),
    "equal-of-one-that-was-not-proven": _case(
        "ab", ONE | NONE, a=page("A", "By crane."), b=page("B", "By rail."), c=page("C", "By rail.")
    ),
    "canonical-link": _case("a", {"canonical/dropped": 1}, a=page("A"), b=page("B", head=LINK)),
    "canonical-link-first": _case(
        "b", {"canonical/unproven": 1, "canonical/dropped": 1}, b=page("B", head=LINK), a=page("A")
    ),
    "canonical-link-another-number": _case(
        "ab", NONE | {"canonical/unproven": 1}, a=page("A", "Costs 10."), b=page("B", "Costs 12.", head=LINK)
    ),
    "canonical-link-to-most-of-the-text": _case(
        "ab",
        MARKED | {"canonical/unproven": 1, "near_duplicate/unproven": 1},
        a=page("A", text=f"{LONG} It costs 10."),
        b=page("B", text=f"{LONG} It costs 12.", head=LINK),
    ),
    "nearly-the-same": _case(
        "a", {"near_duplicate/dropped": 1}, a=page("A", text=f"{LONG} By crane."), b=page("B", text=f"{LONG} By rail.")
    ),
    "nearly-the-same-another-number": _case(
        "ab",
        MARKED | {"near_duplicate/unproven": 1},
        a=page("A", text=f"{LONG} It costs 10."),
        b=page("B", text=f"{LONG} It costs 12."),
    ),
}


def rows(case: Case, site: str) -> list[dict[str, str]]:
    """Return the pages of a case as JSON lines have them."""
    return [{"url": f"{site}/{name}", "html": html} for name, html in case.pages.items()]


def out_of(urls: list[str], site: str) -> str:
    """Return which pages of a case went out, of those that may stand for each other."""
    names = [url.removeprefix(f"{site}/") for url in urls if url.startswith(f"{site}/")]
    return "".join(sorted(name for name in names if len(name) == 1))


def counts_of(counts: Mapping[str, Any]) -> dict[str, int]:
    named = (f"{layer}/{what}" for layer in LAYERS for what in ("dropped", "unproven", "marked"))
    return {name: int(counts[name]) for name in named if counts.get(name)}
