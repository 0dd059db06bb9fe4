from math import isnan

from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.boilerplate.names import Folding, design_names, tokens_of
from scrapy_dedup.core.boilerplate.observations import observe
from scrapy_dedup.core.boilerplate.path_features import FIGURES, main_column, rows, survey
from tests.core.builders import parsed
from tests.core.html_soup import anything
from tests.core.learned_sites import article, site

NAMES = list(FIGURES)


def figures(sources: list[str], path: str) -> dict[str, float]:
    found = rows(survey([observe(parsed(html)) for html in sources]))
    row = next(row for node, row in found.items() if node.path == path)
    return dict(zip(NAMES, row, strict=True))


PAGES = [article(number) for number in range(1, 11)]


def test_a_page_s_own_text_is_told_from_what_all_have():
    text = figures(PAGES, "body>div#wrap>div.main>p")

    assert text["own_often"] == text["own_links"] == 0.0
    assert text["cover"] > 0.9
    assert text["contents"] == 1


def test_what_is_alike_on_a_page_is_a_group_and_told_by_how_it_differs_from_page_to_page():
    """Related products are four on each page, and headings of others; the rows of a list differ in number."""
    pages = []
    for number in range(1, 7):
        items = "".join(f"<li><h3>Thing {(number + step) % 6 + 1}</h3><i>{step} left</i></li>" for step in range(4))
        rows_of = "".join(f"<tr><td>row {number} {row}</td></tr>" for row in range(3 + number))
        pages.append(f"<h1>Thing {number}</h1><table>{rows_of}</table><ul>{items}</ul>")
    cards, listed = figures(pages, "body>ul>li>h3"), figures(pages, "body>table>tbody>tr>td")

    assert (cards["group_at"], cards["group_elements"]) == (1, 4)
    assert cards["group_spread"] == cards["elements_spread"] == 0.0
    assert cards["own_heading"] == 1 > cards["group_heading"] > 0
    assert listed["group_spread"] > 0.2
    assert listed["own_heading"] == 0
    assert listed["own_often"] < listed["own_masked"] == 1
    assert isnan(figures(pages[:1], "body>ul>li>h3")["group_spread"])
    assert isnan(figures(pages, "body>h1")["group_at"])


def test_what_few_pages_have_is_counted_with_its_links():
    """A grid is most of a category's page, and little of a product's."""
    menu = "<nav><a href=/>Home</a><a href=/about>About us</a></nav>"
    names = [f"Thing {chr(97 + number)}" for number in range(12)]
    cards = ["".join(f"<li><a href=/{name}>{name}</a>" for name in names[at : at + 2]) for at in range(0, 12, 2)]
    categories = [f"{menu}<main><ul>{card}</ul></main>" for card in cards]
    products = [
        f"{menu}<main><p>{name} {'is told of at length ' * 9}</p><ol>{cards[at % 6]}</ol></main>"
        for at, name in enumerate(names)
    ]
    of_category, of_product, menus = (
        figures(categories + products, f"body>{path}") for path in ("main>ul>li", "main>ol>li", "nav")
    )

    assert of_category["rest"] == of_category["parent_rest"] == 1
    assert 0 < of_product["rest"] < 0.1
    assert menus["rest"] == 0
    assert isnan(figures(products[:1], "body>main>p")["rest"])


def test_paths_with_names_of_their_own_count_as_one_on_a_page():
    pages = [
        "".join(
            f"<article class=own{'abcd'[number]}{chr(97 + item)}><p>text {number} {item}</p></article>"
            for item in range(count)
        )
        for number, count in enumerate([5, 15, 5, 15])
    ]

    assert figures(pages, "body>article>p")["group_spread"] == 0.5


def test_names_and_hints_of_tags_become_words():
    page = '<div class="mainMenu x1" role="navigation"><p>Home</p></div><div hidden>Away</div><p>Long text</p>'
    found = survey([observe(parsed(page))])
    node = next(node for node in found.nodes if node.path == "body>div.mainMenu.x0>p")
    told = figures([page], node.path)

    assert {one.path for one in found.nodes if one.hidden} == {"body>div"}
    assert node.above == {"main", "menu", "@navigation"}
    assert told["arounds"] == told["contents"] == 1
    assert tokens_of(".product-description_long") == {"product", "descripti", "long"}


def test_main_column_holds_what_is_the_pages_own_and_what_it_stands_in_surrounds_nothing():
    pages = [f"<div class=with-sidebar>{page}</div>" for page in PAGES]

    assert figures(pages, "body>div.with-sidebar>div#wrap>div.main>p")["arounds"] == 0
    assert main_column(survey([observe(page) for page in site()])).path == "body>div#wrap>div.main"


@given(st.lists(anything, min_size=1, max_size=4))
def test_any_pages_have_figures_whatever_their_order(sources):
    seen = [observe(parsed(html)) for html in sources]

    found, turned = survey(seen), survey(seen[::-1])

    assert [node.path for node in found.nodes] == [node.path for node in turned.nodes]
    assert all(len(row) == len(FIGURES) for row in rows(found).values())
    assert (
        sum(node.own.chars for node in found.nodes)
        == found.nodes[0].whole.chars
        == sum(map(sum, (s.chars for s in seen)))
    )


def test_names_of_single_pages_are_not_of_the_design():
    pages = [[f"body>div.text>section#s{number}"] for number in range(10)]

    assert design_names(pages, 0.05) == {".text"}


def test_any_number_of_different_steps_is_folded_in_little_memory():
    folding = Folding(())

    folded = {folding.step(f"p.c{number}") for number in range(20_002)}

    assert folded == {"p"}
