from dataclasses import replace

import pytest
from msgspec import structs

from scrapy_dedup.core.recrawl.verdicts import VerdictKind, compare, main_text, repeats_of
from scrapy_dedup.service.cut.page_cleaning import clean_page
from scrapy_dedup.service.cut.site_cleaning import How, cut_page, frames_of
from scrapy_dedup.service.templates.site_knowledge import LayoutTemplate, Override, SiteKnowledge, learn_site
from scrapy_dedup.settings import Settings
from tests.service.site_pages import DOMAIN, article, listing, own_text, page_of, pages, url_of, words

TEXT = Settings(output="text")
URL = url_of("a", 99)
OTHER_DESIGN = (
    "<body><div id=top>Another top</div><main class=new>"
    + "".join(f"<section class=text><p>{words(place, 40)}</p></section>" for place in range(6))
    + "</main></body>"
)


@pytest.fixture(scope="module")
def known() -> SiteKnowledge:
    return learn_site(DOMAIN, pages(20), TEXT)


def with_each(known: SiteKnowledge, **changes: object) -> SiteKnowledge:
    templates: dict[int, LayoutTemplate] = {
        layout: structs.replace(one, **changes) for layout, one in known.templates.items()
    }
    return SiteKnowledge(known.domain, known.pages, known.index, templates)


class TestWhoCuts:
    def test_a_known_layout_is_cut_by_its_template(self, known):
        found = cut_page(article(99), page_of(article(99)), URL, known, TEXT)

        assert (found.how, found.misfit) == (How.TEMPLATE, "")
        assert found.layout in known.templates

    def test_a_page_of_another_design_is_not_cut_by_a_template_that_does_not_fit(self, known):
        found = cut_page(OTHER_DESIGN, page_of(OTHER_DESIGN), URL, known, TEXT)

        assert found.misfit == "content root lost"
        assert found.how is not How.TEMPLATE
        assert all(words(place, 40) in found.cleaned.content for place in range(6))

    def test_a_template_on_probation_cuts_nothing(self, known):
        found = cut_page(article(99), page_of(article(99)), URL, with_each(known, state="probation"), TEXT)

        assert found.how is not How.TEMPLATE

    def test_caution_acts_on_a_site_that_was_learned_with_another(self, known):
        kept = [
            cut_page(article(99), page_of(article(99)), URL, known, replace(TEXT, cut_caution=caution)).cleaned
            for caution in (0.0, 0.5, 1.0)
        ]

        assert [len(one.content) for one in kept] == sorted(len(one.content) for one in kept)
        assert "Related" not in kept[1].content
        assert "Related" in kept[2].content
        assert kept[1] == cut_page(article(99), page_of(article(99)), URL, known, TEXT).cleaned

    def test_pages_stay_whole_where_the_user_wants_no_fallback(self):
        found = cut_page(article(99), page_of(article(99)), URL, None, replace(TEXT, fallback="whole"))

        assert found.how is How.WHOLE
        assert found.cleaned.removed == []


class TestOverrides:
    def test_what_a_person_drops_goes(self, known):
        decided = with_each(known, overrides=(Override("drop", "article > p:first-of-type"),))

        found = cut_page(article(99), page_of(article(99)), URL, decided, TEXT)

        assert own_text(99)[0] not in found.cleaned.content
        assert own_text(99)[1] in found.cleaned.content
        assert "drop article > p:first-of-type" in {one.removal.rule.evidence for one in found.cleaned.removed}

    def test_the_later_decision_counts(self, known):
        decided = with_each(known, overrides=(Override("drop", "article"), Override("keep", "h1")))

        assert cut_page(article(99), page_of(article(99)), URL, decided, TEXT).cleaned.content == words(99, 3)


class TestReport:
    def test_says_what_cut_the_page_and_why_each_block_went(self, known):
        report = clean_page(article(99), URL, known, TEXT).report(replace(TEXT, item_details=frozenset(["removed"])))

        assert report["how"] == "template"
        assert len(report["layout"]) == 16
        assert {group["path"] for group in report["removed"]} >= {"body>header", "body>footer"}
        assert all("of 20 pages" in group["reason"] for group in report["removed"])

    @pytest.mark.parametrize(
        ("html", "flag"),
        [
            pytest.param("<div>" * 100_000, "too_deep", id="deep"),
            pytest.param("<p>" * 200_000, "too_many_elements", id="many"),
            pytest.param("x" * 9_000_000, "too_large", id="large"),
        ],
    )
    def test_what_must_not_be_parsed_comes_back_as_it_came(self, html, flag):
        found = clean_page(html, URL, None, TEXT)

        assert found.cleaned.content == html
        assert found.report(TEXT)["flag"] == flag


class TestFrame:
    """What stands where a site puts what is not the page's own."""

    def framed(self, html: str, known: SiteKnowledge | None, url: str = URL, *, was: str = "") -> list[str]:
        page = page_of(html)
        _, frame = frames_of(page_of(was or html), page, url, known)
        return [block.text for block, out in zip(page.blocks, frame.cards, strict=False) if out]

    def test_links_to_other_pages_are_framed_and_the_article_is_not(self, known):
        found = self.framed(article(99), known)

        assert {words(99 + step, 4) for step in range(1, 5)} <= set(found)
        assert not {words(99, 3), *own_text(99)} & set(found)

    def test_what_is_left_out_and_belongs_to_no_link_may_be_told(self, known):
        facts = '<div class="side"><dl><dt>Opened</dt><dd>nine</dd></dl></div><div class="side">'

        assert "nine" not in self.framed(article(99).replace('<div class="side">', facts), known)

    def test_entries_of_a_list_are_its_text(self):
        known = learn_site(DOMAIN, pages(12, 8), TEXT)

        found = self.framed(listing(99), known, url_of("list", 99))

        assert not any(words(990 + place, 3) in found for place in range(8))

    def test_nobody_is_sure_of_another_design_or_where_people_decided(self, known):
        decided = with_each(known, overrides=(Override("keep", ".side"),))

        assert self.framed(OTHER_DESIGN, known) == self.framed(article(99), decided) == []
        assert self.framed(article(99), with_each(known, state="probation")) == []
        assert self.framed(article(99), None) == self.framed(article(99), known, was=OTHER_DESIGN) == []

    def test_an_element_of_which_something_is_kept_may_be_told(self, known):
        """Titles of a list, of which a template keeps by mistake no more than the rest of each entry."""
        short = article(99)
        for paragraph in own_text(99)[1:]:
            short = short.replace(f"<p>{paragraph}</p>", "")

        assert words(100, 4) not in self.framed(short, known)

    def test_links_that_come_go_or_move_are_framed(self, known):
        """Three of the four are in both, in another order."""
        first, *others = [words(99 + step, 4) for step in range(1, 5)]
        item = '<li><a href="/a/{}">{}</a></li>'
        was = article(99).replace(item.format(100, first), "").replace(item.format(103, others[2]), "")
        was = was.replace(
            '<div class="side"><h3>Related</h3><ul>',
            '<div class="side"><h3>Related</h3><ul>' + item.format(103, others[2]),
        )

        assert self.framed(article(99), known, was=was)[-4:] == [first, *others]

    def test_who_wrote_it_is_told_and_a_box_of_which_half_went_elsewhere_is_not(self):
        def written(number: int, author: str, title: str = "") -> str:
            byline = f'</h1><div class="by">By <a href="/by/{author}">{author}</a></div>'
            html = article(number).replace("</h1>", byline, 1)
            return html.replace(f"{words(number + 4, 4)}</a>", f"{title or words(number + 4, 4)}</a>")

        known = learn_site(DOMAIN, [(url_of("a", number), written(number, "ana")) for number in range(20)], TEXT)
        others = written(99, "bo", "Another title")
        for place in (100, 101):
            others = others.replace(f'/a/{place}"', f'/a/{place + 50}"').replace(words(place, 4), words(place + 50, 4))

        same_box = self.framed(written(99, "bo", "Another title"), known, was=written(99, "ana"))
        other_box = self.framed(others, known, was=written(99, "ana"))

        assert "By bo" not in {*same_box, *other_box}
        assert "Another title" in other_box
        assert "Another title" not in same_box

    def test_a_link_around_several_blocks_is_one(self):
        def cards(number: int, step: int) -> str:
            html = article(number)
            for place in range(number + 1, number + 5):
                old = f'<a href="/a/{place}">{words(place, 4)}</a>'
                new = f'<a href="/a/{place + step}"><h4>{words(place + step, 4)}</h4><div>{place + step}</div></a>'
                html = html.replace(old, new)
            return html

        known = learn_site(DOMAIN, [(url_of("a", number), cards(number, 0)) for number in range(20)], TEXT)

        found = self.framed(cards(99, 20), known, was=cards(99, 0))

        assert {words(120, 4), "120", words(121, 4), "121"} <= set(found)


def sold(number: int, price: int, *, state: str = "In stock", file: str = "care-1.pdf", sizes: str = "SML") -> str:
    """A page of which templates leave out what sells it, as it stands where others show what else is sold."""
    offer = (
        '<div class="sidebar"><div class="widget"><h3>Offer</h3>'
        f'<p><a href="/add/{number}">Buy for {price} euros</a></p>'
        f'<p><a href="/stock">{state}</a></p><p><a href="/files/{file}">Read on</a></p></div></div>'
        '<div class="variants"><ul>'
        + "".join(f'<li><a href="/a/{number}?size={size}">Size {size}</a> <p>{price} euros</p></li>' for size in sizes)
        + "</ul></div>"
    )
    return article(number).replace("</article>", "</article>" + offer)


@pytest.mark.parametrize("learned", [5, 25])
@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(sold(99, 888), id="price"),
        pytest.param(sold(99, 888, sizes="SXY").replace("for 888", "for 777"), id="price-where-half-is-new"),
        pytest.param(sold(99, 777, state="Sold out"), id="state"),
        pytest.param(sold(99, 777, file="care-2.pdf"), id="file"),
    ],
)
def test_what_leads_where_it_led_and_says_something_else_is_told(learned, changed):
    known = learn_site(DOMAIN, [(url_of("a", number), sold(number, 10 + number)) for number in range(learned)], TEXT)
    old, new = page_of(sold(99, 777)), page_of(changed)
    frames = frames_of(old, new, URL, known)

    assert any(frames[1].cards)
    before, after = (main_text(page, repeats_of([]), frame) for page, frame in zip((old, new), frames, strict=True))
    assert compare(before, after).kind is VerdictKind.CHANGED
