"""A hospital's site, made up, with every kind of repetition that such sites have, and how often each occurs."""

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from tests.hospital.brochures import brochures
from tests.hospital.words import prose
from tests.server import Answer, Site

MENU: Final = "Patiënten Bezoekers Artsen Afspraken Vacatures"
COOKIES: Final = "Deze website gebruikt cookies om uw bezoek aangenamer te maken."
FOOTER: Final = "Algemeen ziekenhuis De Linde, Kerkstraat 1, telefoon 000 00 00 00, alle rechten voorbehouden."
FURNITURE: Final = (MENU, COOKIES, FOOTER)
BLOCKS_OF_FURNITURE: Final = 7
"""The five entries of the menu, the banner, and the footer."""
ORIGIN: Final = "https://linde.example"

SHARED_BY_EXERCISES: Final = 3
SHARED_BY_EDITIONS: Final = 4
NEWSLETTER: Final = "?utm_source=nieuwsbrief"

Section = tuple[str, str]
"""A heading, and HTML."""


class Sizes(Struct, frozen=True):
    """How often each case occurs."""

    aliases: int = 22
    aliases_with_link: int = 11
    nodes: int = 7
    nodes_with_link: int = 4
    twins: int = 16
    namesakes: int = 10
    editions: int = 5
    exercises: int = 8
    with_departments: int = 6
    french: int = 6
    german: int = 4
    with_short_headings: int = 5
    plain: int = 20
    repeated_addresses: int = 12
    brochures: int = 0
    brochures_with_twins: int = 0

    @property
    def links(self) -> int:
        return self.aliases_with_link + self.nodes_with_link

    @property
    def pages(self) -> int:
        twice = self.aliases + self.nodes + self.twins + self.editions
        once = self.namesakes + self.exercises + self.with_departments + self.french + self.german
        return 2 * twice + once + self.with_short_headings + self.plain + self.brochures + self.brochures_with_twins

    @property
    def dropped(self) -> dict[str, int]:
        return {
            "canonical": self.links,
            "title": self.nodes - self.nodes_with_link + self.twins + self.brochures_with_twins,
            "duplicate": self.aliases - self.aliases_with_link,
        }

    @property
    def ledger(self) -> dict[str, int]:
        """What a crawl counts, whatever the order of its pages; for want of PDFs, whose blocks are others."""
        out = self.pages - sum(self.dropped.values())
        found = {f"{layer}/dropped": number for layer, number in self.dropped.items()}
        return found | {
            "url/dropped": self.repeated_addresses,
            "items/in": self.pages,
            "items/dropped": self.pages - out,
            "items/out": out,
            "boilerplate/pages": out,
            "boilerplate/blocks": BLOCKS_OF_FURNITURE * out,
            "near_duplicate/marked": self.editions,
            "chunk/chunks": self.chunks_dropped(),
            "language/chunks": self.french + self.german,
        }

    @property
    def ledger_of_files(self) -> dict[str, int]:
        """What a run over files counts: each line is an item, and nothing is asked for."""
        of_lines = {name: self.ledger[name] + self.repeated_addresses for name in ("items/in", "items/dropped")}
        return self.ledger | of_lines

    def chunks_dropped(self, most: int = 1) -> int:
        """Return how many chunks are left out, where so many pages may hold one text."""
        of_exercises = SHARED_BY_EXERCISES * max(0, self.exercises - most)
        of_editions = SHARED_BY_EDITIONS * self.editions * max(0, 2 - most)
        return of_exercises + of_editions + max(0, self.with_departments - most)


ALL: Final = Sizes()
FEW: Final = Sizes(6, 3, 4, 2, 5, 4, 2, 4, 4, 2, 2, 3, 6, 4)


class Content(Struct, frozen=True):
    """One page's own title and text."""

    path: str
    title: str
    sections: Sequence[Section]
    canonical: str | None = None
    heading: str = ""
    """Above the text; it stays when the title differs."""

    def html(self) -> str:
        link = f'<link rel="canonical" href="{self.canonical}">' if self.canonical else ""
        items = "".join(f'<li><a href="/{word.lower()}">{word}</a></li>' for word in MENU.split())
        body = "".join(f"<h2>{heading}</h2>{text}" for heading, text in self.sections)
        return (
            f'<!doctype html><html lang="nl"><head><title>{self.title}</title>{link}</head><body>'
            f'<div class="cookie-banner"><p>{COOKIES}</p></div><nav><ul>{items}</ul></nav>'
            f"<main><article><h1>{self.heading or self.title}</h1>{body}</article></main>"
            f"<footer><p>{FOOTER}</p></footer></body></html>"
        )


def a_section(seed: object, sentences: int = 4) -> Section:
    """Return a section long enough to be a chunk of its own."""
    random = Random(f"heading {seed}")
    heading = random.choice("Voorbereiding Verloop Nazorg Afspraak Opname Ontslag Onderzoek".split())
    return f"{heading} {random.randrange(1000)}", f"<p>{prose(seed, sentences)}</p>"


def a_content(path: str, title: str, *, sections: int = 3) -> Content:
    return Content(path, title, [a_section((path, number)) for number in range(sections)])


def aliases(sizes: Sizes) -> Iterator[Content]:
    """Yield pages with a second path and another title there; some of these name the first."""
    for number in range(sizes.aliases):
        first = a_content(f"/reglement-{number}", f"Reglement {number}")
        link = first.path if number < sizes.aliases_with_link else None
        second = replace(first, path=f"/werking/reglement-{number}", canonical=link, heading=first.title)
        yield from (first, replace(second, title=f"Werking: reglement {number}"))


def nodes(sizes: Sizes) -> Iterator[Content]:
    """Yield pages that are reached by their number, too, under the same title."""
    for number in range(sizes.nodes):
        first = a_content(f"/arts-{number}", f"Dokter {number}")
        link = first.path if number < sizes.nodes_with_link else None
        yield from (first, replace(first, path=f"/node/{2000 + number}", canonical=link))


def twins(sizes: Sizes) -> Iterator[Content]:
    """Yield pages with the same title and text under another path, of which none says so."""
    for number in range(sizes.twins):
        first = a_content(f"/brochure-{number}", f"Brochure {number}")
        yield from (first, replace(first, path=f"/patienten/brochures/{number}"))


def namesakes(sizes: Sizes) -> Iterator[Content]:
    for number in range(sizes.namesakes):
        yield _with_list(a_content(f"/dienst-{number}/contact", "Contact"))


def editions(sizes: Sizes) -> Iterator[Content]:
    """Yield programmes of two years, which differ by the year."""
    for number in range(sizes.editions):
        shared = [a_section(("edition", number, part), 12) for part in range(SHARED_BY_EDITIONS)]
        last = prose(("edition", number), 6)
        for year in (2024, 2025):
            sections = [*shared, ("Data", f"<p>{last} Het jaar {year} begint in september.</p>")]
            yield Content(f"/opleiding-{number}/{year}", f"Opleiding {number}, {year}", sections, heading="Opleiding")


def exercises(sizes: Sizes) -> Iterator[Content]:
    """Yield pages that have some sections in common, beside their own."""
    shared = [a_section(("exercises", number)) for number in range(SHARED_BY_EXERCISES)]
    for number in range(sizes.exercises):
        own = a_content(f"/oefeningen-{number}", f"Oefeningen {number}", sections=5)
        yield replace(own, sections=[*own.sections[:2], *shared, *own.sections[2:]])


def with_departments(sizes: Sizes) -> Iterator[Content]:
    """Yield pages of which each has the list of all departments."""
    names = "Cardiologie Geriatrie Pediatrie Neurologie Urologie Oncologie Radiologie Dermatologie Orthopedie".split()
    rows = "".join(f"<li>{name}: {prose(name, 1)}</li>" for name in names)
    for number in range(sizes.with_departments):
        own = a_content(f"/campus-{number}", f"Campus {number}", sections=5)
        yield replace(own, sections=[*own.sections[:3], ("Alle diensten", f"<ul>{rows}</ul>"), *own.sections[3:]])


def with_other_languages(sizes: Sizes) -> Iterator[Content]:
    """Yield Dutch pages with a section in French or German."""
    for number in range(sizes.french + sizes.german):
        language = "fr" if number < sizes.french else "de"
        own = a_content(f"/opname-{number}", f"Opname {number}", sections=4)
        other = ("Informations" if language == "fr" else "Auskunft", f"<p>{prose(number, 4, language)}</p>")
        yield replace(own, sections=[*own.sections[:2], other, *own.sections[2:]])


def with_short_headings(sizes: Sizes) -> Iterator[Content]:
    """Yield pages with headings and labels in other languages, too short to be judged."""
    for number in range(sizes.with_short_headings):
        words = (("Emergency", "Call"), ("Urgences", "Niveau"), ("Notfall", "Haus"))
        labels = [(heading, f"<p>{label} {number}</p>") for heading, label in words]
        own = a_content(f"/dringend-{number}", f"Dringend {number}")
        yield replace(own, sections=[*own.sections, *labels[: 1 + number % 3]])


def plain(sizes: Sizes) -> Iterator[Content]:
    for number in range(sizes.plain):
        yield _with_list(a_content(f"/nieuws-{number}", f"Nieuws {number}"))


def _with_list(content: Content) -> Content:
    """Return a page with a list of its own: lists as such say nothing."""
    items = "".join(f"<li>{prose((content.path, number), 1)}</li>" for number in range(4))
    return replace(content, sections=[*content.sections, ("Aandachtspunten", f"<ul>{items}</ul>")])


GROUPS: Final = (
    aliases,
    nodes,
    twins,
    namesakes,
    editions,
    exercises,
    with_departments,
    with_other_languages,
    with_short_headings,
    plain,
)


def site(sizes: Sizes = ALL, origin: str = ORIGIN) -> dict[str, Answer]:
    """Return what the hospital's server answers; every page also as a newsletter links it."""
    pages = {origin + one.path: Answer(one.html()) for group in GROUPS for one in group(sizes)}
    for path, body in brochures(sizes.brochures, sizes.brochures_with_twins).items():
        pages[origin + path] = Answer(body, content_type="application/pdf")
    return pages | {url + NEWSLETTER: answer for url, answer in pages.items()}


def served(pages: Mapping[str, Answer]) -> Site:
    return dict(pages)


def addresses(pages: Mapping[str, Answer], sizes: Sizes = ALL, seed: int | None = None) -> list[str]:
    """Return all addresses, some twice, with what a newsletter adds; shuffled by a seed."""
    urls = [url for url in pages if not url.endswith(NEWSLETTER)]
    step = len(urls) // sizes.repeated_addresses
    urls += [url + NEWSLETTER for url in urls[::step][: sizes.repeated_addresses]]
    if seed is not None:
        Random(seed).shuffle(urls)
    return urls


def rows(pages: Mapping[str, Answer], urls: Sequence[str]) -> list[dict[str, Any]]:
    """Return the pages of some addresses as JSON lines have them."""
    return [_row(url, pages[url]) for url in urls]


def _row(url: str, answer: Answer) -> dict[str, Any]:
    if isinstance(answer.body, str):
        return {"url": url, "html": answer.body}
    return {"url": url, "body": b64encode(answer.body).decode(), "content_type": answer.content_type}
