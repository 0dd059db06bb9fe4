from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.path_verdicts import DropReason, PathVerdict
from tests.core.builders import parsed
from tests.core.learned_sites import article, learned, site, words
from tests.tables import table

MAIN = "body>div#wrap>div.main"


def test_main_column_is_the_element_that_holds_nearly_all_unique_text_and_what_stands_beside_it_is_dropped() -> None:
    found = learned(site())

    assert found.containers == (MAIN,)
    assert (found.paths[f"{MAIN}>p"].keep, found.paths[f"{MAIN}>p"].inside) == (True, True)
    beside = ("body>nav", "body>header", "body>div#wrap>div.side", "body>footer")
    assert {found.paths[path].reason for path in beside} == {DropReason.OUTSIDE}


def fields(number: int) -> str:
    return article(number, within="<div class=hint>Send us a message when you find an error here</div>")


def crumbs(number: int) -> str:
    return article(number, before=f"<div class=x><a href=/>Start</a> / <a href=/y>{words(2, number)}</a> / here</div>")


def link_list(number: int) -> str:
    items = "".join(f"<li><a href=/{item}>{words(3, (number, item))}</a></li>" for item in range(4))
    return article(number, within=f"<ul class=more>{items}</ul><p>{words(9, (number, 'end'))}</p>")


def prev_next(number: int) -> str:
    return article(number, before=f"<div class=navbar><b>{words(2, (number, 'chapter'))}</b></div>")


def related(number: int) -> str:
    row = f"<a href=/z>{words(2, (number, 'z'))}</a>, {words(2, (number, 'zz'))}"
    return article(number, within=f"<div class=related>{row}</div><p>{words(9, (number, 'end'))}</p>")


def comments(number: int) -> str:
    return article(number, within=f"<div id=comments><p>{words(15, (number, 'comment'))}</p></div>")


def aside(number: int) -> str:
    return article(number, within=f"<aside>{words(8, (number, 'aside'))}</aside>")


def bare_text(number: int) -> str:
    return article(number, before="Skip to the content of this page")


@pytest.mark.parametrize(
    ("make", "path", "reason"),
    [
        pytest.param(fields, f"{MAIN}>div.hint", DropReason.REPEATS, id="text-of-all-pages"),
        pytest.param(crumbs, f"{MAIN}>div.x", DropReason.LINKS, id="row-of-links-before-the-text"),
        pytest.param(link_list, f"{MAIN}>ul.more", DropReason.LINKS, id="list-of-nothing-but-links"),
        pytest.param(prev_next, f"{MAIN}>div.navbar", DropReason.NAVIGATION, id="name-that-can-mean-nothing-else"),
        pytest.param(related, f"{MAIN}>div.related", DropReason.NAMED, id="name-and-links"),
        pytest.param(comments, f"{MAIN}>div#comments", DropReason.COMMENTS, id="comments"),
        pytest.param(aside, f"{MAIN}>aside", DropReason.NAVIGATION, id="element-for-what-surrounds"),
        pytest.param(bare_text, f"{MAIN}>-", DropReason.REPEATS, id="text-in-the-element-itself"),
    ],
)
def test_what_is_no_content_is_dropped_within_the_main_column(
    make: Callable[[int], str], path: str, reason: DropReason
) -> None:
    found = learned(site(make))

    assert found.paths[path].reason is reason
    assert found.paths[path].inside
    assert found.paths[f"{MAIN}>p"].keep


@table("pages/kept")
def test_content_that_looks_like_boilerplate_stays(within: str, path: str) -> None:
    def make(number: int) -> str:
        return article(number, within=within.replace("{}", words(4, (number, within))))

    assert learned(site(make)).paths[f"{MAIN}>{path}"].keep


def test_header_with_the_page_title_stays_beside_the_main_column() -> None:
    def make(number: int) -> str:
        text = f"<p>{words(90, number)}</p>"
        return f"<div class=top><h1>{words(2, ('t', number))}</h1></div><div class=text>{text}</div><footer>f</footer>"

    found = learned(site(make))

    assert found.containers[0] == "body>div.text"
    assert found.paths["body>div.top>h1"].keep


def test_each_layout_has_its_main_column() -> None:
    def make(number: int) -> str:
        if number % 2:
            return article(number)
        listed = "".join(f"<div class=card><p>{words(20, (number, card))}</p></div>" for card in range(3))
        listed = f"<p>{words(30, number)}</p>{listed}"
        return f"<header>The site of all things</header><section class=list>{listed}</section>"

    found = learned(site(make, 20))

    assert sorted(found.containers) == [MAIN, "body>section.list"]
    assert found.paths["body>section.list>div.card>p"].inside


def test_text_that_one_layout_repeats_is_dropped_though_most_pages_lack_it() -> None:
    def make(number: int) -> str:
        form = "<div class=buy><p>Choose how many of these you want</p></div>"
        return article(number, within=form if number % 4 == 0 else "")

    assert learned(site(make, 24)).paths[f"{MAIN}>div.buy"].reason is DropReason.REPEATS


def test_names_of_single_pages_do_not_split_a_path() -> None:
    def make(number: int) -> str:
        return f"<div id={words(1, number)} class='text {words(1, -number)}'><p>{words(70, number)}</p></div>"

    assert learned(site(make)).containers[0] == "body>div.text"


@pytest.mark.parametrize("pages", [0, 1, 2])
def test_nothing_is_dropped_from_too_few_pages(pages: int) -> None:
    found = learned(site(pages=pages))

    assert found.pages == pages
    assert all(verdict.keep for verdict in found.paths.values())
    assert not found.repeated


@table("core/evidence_is_told_in_words")
def test_evidence_is_told_in_words(reason: str | None, words_of_it: str) -> None:
    why = DropReason(reason) if reason else None
    verdict = PathVerdict(why is None, why, 8, 9, repeated=0.9, links=0.8, coverage=0.1, inside=True)

    assert verdict.evidence == words_of_it


@given(st.permutations(range(8)))
def test_order_of_pages_changes_nothing(order: list[int]) -> None:
    pages = [parsed(link_list(number) if number % 3 else related(number)) for number in range(8)]

    assert learned(pages[number] for number in order) == learned(pages)


def cards(number: int) -> str:
    names = [f"<div class=name><a href=/{card}>{words(3, (number, card))}</a></div>" for card in range(8)]
    return article(number, within="".join(f"<div class=card>{name}<p>{words(6, name)}</p></div>" for name in names))


def test_titles_of_cards_are_no_list_of_links() -> None:
    assert learned(site(cards)).paths[f"{MAIN}>div.card>div.name"].keep


def test_picture_link_that_repeats_the_title_beside_it_is_dropped() -> None:
    def make(number: int) -> str:
        listed = "".join(
            f"<div class=card><div class=picture><a href=/{card}>{words(3, (number, card))}</a></div>"
            f"<div class=name>{words(3, (number, card))}</div></div>"
            for card in range(8)
        )
        return article(number, within=listed)

    found = learned(site(make))

    assert found.paths[f"{MAIN}>div.card>div.picture"].reason is DropReason.LINKS
    assert found.paths[f"{MAIN}>div.card>div.name"].keep


def test_columns_that_share_the_text_stay_both() -> None:
    def make(number: int) -> str:
        columns = "".join(f"<div class={side}><p>{words(40, (number, side))}</p></div>" for side in ("left", "right"))
        return f"<div class=all>{columns}</div><footer>The end</footer>"

    found = learned(site(make))

    assert found.containers[0] == "body>div.all"
    assert found.paths["body>div.all>div.left>p"].keep
    assert found.paths["body>div.all>div.right>p"].keep


def test_what_repeats_or_links_is_dropped_from_a_header_that_stays() -> None:
    def make(number: int) -> str:
        slogan = "<div class=slogan>The site of all things</div>"
        ways = f"<div class=ways><a href=/>{words(2, (number, 'a'))}</a> <a href=/>{words(2, (number, 'b'))}</a></div>"
        head = f"<div class=top><h1>{words(9, (number, 't'))}</h1>{slogan}{ways}</div>"
        return f"{head}<div class=text><p>{words(150, number)}</p></div>"

    found = learned(site(make))

    assert found.paths["body>div.top>h1"].keep
    assert found.paths["body>div.top>div.slogan"].reason is DropReason.REPEATS
    assert found.paths["body>div.top>div.ways"].reason is DropReason.LINKS
