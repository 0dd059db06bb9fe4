from math import isnan

from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.observations import observe
from scrapy_dedup.core.path_features import FIGURES, main_column, rows, survey, tokens_of
from tests.core.builders import parsed
from tests.core.html_soup import anything
from tests.core.learned_sites import article, site

NAMES = list(FIGURES)


def figures(sources: list[str], path: str) -> dict[str, float]:
    found = rows(survey([observe(parsed(html)) for html in sources]))
    row = next(row for node, row in found.items() if node.path == path)
    return dict(zip(NAMES, row, strict=True))


PAGES = [article(number) for number in range(1, 11)]


def test_what_repeats_and_what_leads_elsewhere_is_counted() -> None:
    menu = figures(PAGES, "body>nav>ul>li")

    assert (menu["own_links"], menu["own_often"], menu["page_share"]) == (1.0, 1.0, 1.0)
    assert menu["distinct"] == 0.1
    assert menu["in_nav"] == 1


def test_a_page_s_own_text_is_told_from_what_all_have() -> None:
    text = figures(PAGES, "body>div#wrap>div.main>p")

    assert text["own_often"] == text["own_links"] == 0.0
    assert text["cover"] > 0.9
    assert text["contents"] == 1


def test_of_one_page_what_only_a_site_tells_is_not_known() -> None:
    alone = figures(PAGES[:1], "body>nav>ul>li")

    assert all(isnan(alone[name]) for name in ("own_often", "page_share", "shared", "most_often"))
    assert alone["own_links"] == 1.0


def test_names_and_hints_of_tags_become_words() -> None:
    found = survey([observe(parsed('<div class="mainMenu x1" role="navigation"><p>Home</p></div>'))])
    node = next(node for node in found.nodes if node.tag == "p")

    assert node.above == {"main", "menu", "@navigation"}
    assert node.called[2:4] == (1, 1)
    assert tokens_of(".product-description_long") == {"product", "descripti", "long"}


def test_main_column_holds_what_is_the_pages_own() -> None:
    assert main_column(survey([observe(page) for page in site()])).path == "body>div#wrap>div.main"


@given(st.lists(anything, min_size=1, max_size=4))
def test_any_pages_have_figures_whatever_their_order(sources: list[str]) -> None:
    seen = [observe(parsed(html)) for html in sources]

    found, turned = survey(seen), survey(seen[::-1])

    assert [node.path for node in found.nodes] == [node.path for node in turned.nodes]
    assert all(len(row) == len(FIGURES) for row in rows(found).values())
    assert (
        sum(node.own.chars for node in found.nodes)
        == found.nodes[0].whole.chars
        == sum(map(sum, (s.chars for s in seen)))
    )
