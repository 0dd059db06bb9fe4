import json
import string
from collections.abc import Mapping, Sequence
from copy import deepcopy
from importlib.resources import files
from math import isnan, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from scrapy_dedup.core.boilerplate.names import PathLooks
from scrapy_dedup.core.boilerplate.observations import observe
from scrapy_dedup.core.boilerplate.path_features import FIGURES, DropReason, rows, survey
from scrapy_dedup.core.boilerplate.verdict_model import (
    Forest,
    ModelError,
    PathVerdict,
    SiteVerdicts,
    Tree,
    VerdictModel,
    figures_hash,
    learn,
    words_of,
)
from scrapy_dedup.service.model_file import verdict_model
from tests.core.builders import parsed
from tests.core.html_soup import anything
from tests.core.learned_sites import article
from tests.tables import table

STORED: dict[str, Any] = json.loads(files("scrapy_dedup.service").joinpath("verdict_model.json").read_text("utf-8"))
SEEN = [observe(parsed(article(number))) for number in range(1, 11)]


def a_model(*trees: Any, columns: Sequence[str] = ("own_links", "own_often", "named:menu")) -> VerdictModel:
    stored = {"version": 1, "figures": figures_hash(), "columns": columns, "trees": trees}
    return VerdictModel.from_json(stored | {"scale": 1, "shift": 0, "made": {}})


def test_model_is_small_and_says_of_what_it_was_made():
    assert len(json.dumps(STORED)) < 300_000
    assert STORED["made"]["sites"]
    assert STORED["made"]["date"] >= "2026"


def test_trees_are_walked_and_what_is_missing_goes_where_it_was_taught():
    model = a_model([0, 0.5, 0, 1.0, -2.0, 0.0], [1, 0.5, 1, 0.25, -1.0, 0.0])
    of_site, alone = (model.judge(rows(survey(seen))) for seen in (SEEN, SEEN[:1]))

    def odds(found: Any, path: str) -> float:
        return next(float(one.odds) for node, one in found.items() if node.path == path)

    assert odds(of_site, "body>nav>ul>li") == -3.0
    assert odds(of_site, "body>div#wrap>div.main>p") == 1.25
    assert odds(alone, "body>nav>ul>li") == -1.75


def test_reasons_are_what_spoke_most_for_the_verdict():
    found = a_model([0, 0.5, 0, 1.0, -2.0, 0.0], [1, 0.5, 1, 0.25, -1.0, 0.0]).judge(rows(survey(SEEN)))
    menu = next(one for node, one in found.items() if node.path == "body>nav>ul>li")

    assert menu.reasons == (("own_links", 1.0), ("own_often", 1.0))
    assert words_of(*menu.reasons[0]) == "100% of its text links"
    assert words_of("in:menu", 1.0) == "it stands in what is named 'menu'"
    assert words_of("named:%menu", 1.0) == "it is named 'menu'"
    assert words_of("from_h1", -0.05) == "it stands 5% of the page before the first heading"
    assert words_of("from_column", 0.05) == "it stands 5% of the page behind where the content begins"
    assert all(words_of(name, 0.5) for name in FIGURES)


def test_a_name_speaks_for_its_element_and_for_what_stands_in_it():
    trees = [0, 0.5, 0, 0.0, 1.0, 0.0], [1, 0.5, 0, 0.0, 2.0, 0.0]
    model = a_model(*trees, columns=["named:side", "in:side"])
    odds = {node.path: one.odds for node, one in model.judge(rows(survey(SEEN))).items()}

    side = "body>div#wrap>div.side"
    assert (odds["body>header"], odds[f"{side}>h3"], odds[side]) == (0.0, 2.0, 3.0)


NUMBERS = st.floats(-1e6, 1e6) | st.sampled_from([0.0, -0.0, 0.5, 1.0, 1e-300, -1e300])
WIDTH = 5


def branches(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    return st.tuples(st.integers(0, WIDTH - 1), NUMBERS, st.booleans(), inner, inner, NUMBERS)


def walked(tree: Tree, row: Sequence[float], spoke: list[float]) -> float:
    """Walk one tree step by step; what the quick way has to give, to the last bit."""
    while isinstance(tree, tuple):
        column, threshold, missing_left, smaller, larger, here = tree
        value = row[column]
        tree = smaller if value <= threshold or (missing_left and isnan(value)) else larger
        spoke[column] += (tree[5] if isinstance(tree, tuple) else tree) - here
    return tree


@given(
    st.lists(st.recursive(NUMBERS, branches, max_leaves=12), min_size=1, max_size=120),
    st.lists(st.tuples(*[NUMBERS | st.just(nan)] * WIDTH), max_size=5),
)
def test_a_forest_says_what_a_walk_through_its_trees_says(trees, rows):
    forest = Forest(trees, WIDTH)

    for row in rows:
        spoke = [0.0] * WIDTH
        odds = sum(walked(tree, row, spoke) for tree in trees)
        leaves = forest.leaves(row)
        assert (forest.odds(leaves), forest.spoke(leaves)) == (odds, spoke)


def test_a_model_of_one_figure_judges_by_it():
    found = a_model([0, 0.5, 0, 1.0, -2.0, 0.0], columns=["own_links"]).judge(rows(survey(SEEN)))

    assert {one.odds for one in found.values()} == {1.0, -2.0}


def test_reasons_are_those_of_a_tuple_however_late_they_are_asked_for():
    judged = list(verdict_model().judge(rows(survey(SEEN))).values())
    again = list(verdict_model().judge(rows(survey(SEEN))).values())

    assert judged == again
    assert deepcopy(again) == judged
    assert {type(one.reasons) for one in deepcopy(again)} == {tuple}
    for one in judged:
        assert one.reasons == tuple(one.reasons)
        assert repr(one.reasons) == repr(tuple(one.reasons))
        assert len(one.reasons) <= 3


@table("core/model_that_cannot_be_used_says_how_to_get_one")
def test_model_that_cannot_be_used_says_how_to_get_one(change, message):
    with pytest.raises(ModelError, match=message):
        VerdictModel.from_json(STORED | change)


@given(
    st.recursive(
        st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_what_is_no_model_is_refused(stored):
    with pytest.raises(ModelError):
        VerdictModel.from_json(stored)


@given(st.lists(anything, min_size=1, max_size=3))
def test_every_path_has_a_verdict_with_its_reasons(sources):
    seen = [observe(parsed(html)) for html in sources]
    found = learn(seen, verdict_model())

    assert set(found.paths) >= {path for one in survey(seen).nodes for path in [one.path]}
    for verdict in found.paths.values():
        assert 0.0 <= verdict.probability <= 1.0
        assert "(content by " in verdict.evidence
    kept = min((one.probability for one in found.paths.values() if one.keep), default=1.0)
    left_out = max((one.probability for one in found.paths.values() if not one.keep), default=0.0)
    # Probabilities are rounded. A page alone may keep what is less likely than not.
    assert kept >= left_out - 0.001
    assert left_out < 0.501
    assert len(seen) == 1 or kept > 0.499


def test_a_verdict_names_of_which_kind_its_first_reason_is():
    def reason(name: str) -> DropReason | None:
        return PathVerdict(keep=False, probability=0.1, pages=1, of_pages=1, reasons=((name, 1.0),)).reason

    assert reason("own_often") is DropReason.REPEATS
    assert reason("most_links") is DropReason.LINKS
    assert reason("in:menu") is reason("in_nav") is DropReason.NAMED
    assert reason("in_form") is DropReason.FORM
    assert reason("from_column_end") is DropReason.OUTSIDE
    assert PathVerdict(keep=True, probability=0.9, pages=1, of_pages=1).reason is None


MENU, TEXT = "body>nav>ul>li", "body>div#wrap>div.main>p"
EVEN = a_model(0.1)
"""It takes all for content, by a little."""


REPEATS = a_model([1, 0.5, 0, 1.0, -2.0, 0.0])
"""It takes for content what is not on most other pages."""
MENU_TEXT = "Home, news, shops, delivery, returns, careers, terms of sale, imprint and everything else"
FACTS = "<dt>Area<dd>{n} m<dt>Heating<dd>{n} gas<dt>Free from<dd>{n} May"


@pytest.mark.parametrize(
    ("html", "path", "kept"),
    [
        pytest.param(f"<dl>{FACTS}</dl>", "dl>dt", True, id="terms"),
        pytest.param(f"<dl><div>{FACTS}</div></dl>", "dl>div>dt", True, id="terms-in-groups"),
        pytest.param("<dl><dt>Regular price<dd>{n} m</dl>", "dl>dt", False, id="a-term-by-itself"),
        pytest.param("<table><tr><th>Area<td>{n} m</table>", "table>tbody>tr>th", True, id="heads-of-rows"),
        pytest.param(
            "<table><thead><tr><th>mm<tbody><tr><td>{n} m</table>", "table>thead>tr>th", True, id="head-of-a-table"
        ),
        pytest.param(
            "<table><thead><tr><th>mm<tbody><tr><td>Mon</table>", "table>thead>tr>th", False, id="head-of-what-goes"
        ),
        pytest.param("<div><h3>Tea {n}</h3><p>£19</div>", "div>p", True, id="price"),
        pytest.param("<div><h3>Tea {n}</h3><ul><li>£19</ul></div>", "div>ul>li", True, id="price-deeper"),
        pytest.param("<div><h3>Tea {n}</h3><p>Add it</div>", "div>p", False, id="no-price"),
        pytest.param("<div><h3>Your cart</h3><p>£0.00</div>", "div>p", False, id="price-of-what-goes"),
        pytest.param("<dl><dt>Stock<dd>{state}</dl>", "dl>dd", True, id="state"),
        pytest.param("<dl><dt>Stock<dd>In stock</dl>", "dl>dd", False, id="no-state"),
        pytest.param('<p class="x"><a href="/">{state}</a>', "p.x", False, id="link"),
        pytest.param(f"<ul><li>{{n}} m<li><p>{MENU_TEXT}</ul>", "ul>li", False, id="list-of-what-goes"),
        pytest.param(f"<div><h5>{{n}} m</h5><p>{MENU_TEXT}</div>", "div>h5", True, id="no-list"),
    ],
)
def test_label_price_and_state_stay_with_what_they_belong_to(html, path, *, kept):
    told = ((f"{number}{number}", "In stock" if number % 4 else "Sold out") for number in range(12))
    within = [html.replace("{n}", own).replace("{state}", state) for own, state in told]
    pages = [observe(parsed(article(number, within=text))) for number, text in enumerate(within)]

    assert learn(pages, REPEATS).paths[f"body>div#wrap>div.main>{path}"].keep is kept


@pytest.mark.parametrize(
    ("odds", "pages", "html", "kept"),
    [
        pytest.param(0.1, 8, f"<div>{MENU_TEXT}</div>", False, id="rules-of-a-board"),
        pytest.param(1.9, 8, f"<div>{MENU_TEXT}</div>", False, id="hardly-unsure"),
        pytest.param(2.1, 8, f"<div>{MENU_TEXT}</div>", True, id="sure"),
        pytest.param(-0.1, 8, f"<div>{MENU_TEXT}</div>", False, id="goes-already"),
        pytest.param(0.1, 7, f"<div>{MENU_TEXT}</div>", True, id="of-few-pages"),
        pytest.param(0.1, 8, f"<div>{MENU_TEXT}</div><div>{MENU_TEXT}</div>", True, id="twice-a-page"),
        pytest.param(0.1, 8, "<div>Read the rules</div>", True, id="words"),
        pytest.param(0.1, 8, f"<h2>{MENU_TEXT}</h2>", True, id="heading"),
        pytest.param(0.1, 12, f"<div>{MENU_TEXT}{{n}}</div>", True, id="one-each"),
    ],
)
def test_a_sentence_that_is_all_its_place_says_on_several_pages_is_none_of_theirs(odds, pages, html, *, kept):
    within = [html.replace("{n}", str(number)) if number < pages else "" for number in range(12)]
    seen = [observe(parsed(article(number, within=text))) for number, text in enumerate(within)]

    assert learn(seen, a_model(odds)).paths[f"body>div#wrap>div.main>{html[1:].partition('>')[0]}"].keep is kept


@pytest.mark.parametrize(
    ("sure", "pages", "caution", "kept"),
    [
        (-0.2, 1, 0.5, [True, True]),
        (4.0, 1, 0.5, [True, False]),
        (4.0, 1, 0.9, [True, True]),
        (-0.2, 2, 0.5, [False, False]),
    ],
)
def test_of_a_page_alone_stays_what_is_half_as_likely_as_the_best_to_be_had(sure, pages, caution, kept):
    model = a_model([2, 0.5, 0, sure, -0.9, 0.0])
    found = learn([observe(parsed(f"<p>{MENU_TEXT}<div class=menu>{MENU_TEXT}</div>"))] * pages, model, caution).paths

    assert [found["body>p"].keep, found["body>div.menu"].keep] == kept


def test_a_table_for_layout_does_not_speak_for_what_stands_in_it():
    pages = [observe(parsed(f"<table><tr><td>{number} m<td><p>{MENU_TEXT}</table>")) for number in range(12)]

    assert learn(pages, REPEATS).paths["body>table>tbody>tr>td"].keep


@table("core/a_page_s_own_title_stays_though_other_pages_link_to_it")
def test_a_page_s_own_title_stays_though_other_pages_link_to_it(heading, kept):
    def page(number: int) -> str:
        names = [f"Tea {name} leaves" for name in string.ascii_lowercase[:12]]
        links = "".join(f"<li><a href=/{name}>{name}</a>" for name in names)
        title = f"<title>{names[number]} - Tea for all</title>"
        return f"{title}<main>{heading.replace('{own}', names[number])}<p>Text {number}</main><ul>{links}</ul>"

    verdicts = learn([observe(parsed(page(number))) for number in range(12)], REPEATS).paths

    assert verdicts["body>main>h1"].keep is kept
    assert not verdicts["body>ul>li"].keep


class Known(Struct):
    verdicts: Mapping[str, PathVerdict] = {}
    surrounding: Mapping[int, int] = {}


def learned(**beside: object) -> SiteVerdicts:
    return learn(SEEN, EVEN, **beside)  # type: ignore[arg-type]


def looking(path: str, looks: PathLooks) -> PathVerdict:
    return learned(looks=[{path: looks}]).paths[path]


def test_text_that_no_person_sees_goes():
    hidden = looking(TEXT, PathLooks(10, 10, 90))

    assert not hidden.keep
    assert hidden.reasons[0] == ("unseen", 1.0)
    assert looking(TEXT, PathLooks(11, 11, 89)).keep


def test_how_text_looks_moves_its_verdict_either_way():
    assert not looking(TEXT, PathLooks(100, 0, 0)).keep
    assert looking(TEXT, PathLooks(100, 100, 0)).probability > learned().paths[TEXT].probability
    assert looking(TEXT, PathLooks(100, 0, 0)).reasons[0] == ("looks", 0.0)
    assert looking(TEXT, PathLooks(0, 0, 0)) == learned().paths[TEXT]
    assert learned(looks=[{TEXT: PathLooks(100, 0, 0)}]).paths[MENU] == learned().paths[MENU]


def test_after_a_redesign_what_stood_around_the_content_goes_wherever_it_stands_now():
    cautious = learn(SEEN, a_model([0, 0.5, 0, 1.0, -2.0, 0.0]))
    found = learned(former=Known(surrounding=cautious.surrounding))

    assert cautious.surrounding
    assert not found.paths[MENU].keep
    assert found.paths[MENU].reasons[0] == ("surrounds", 1.0)
    assert found.paths[TEXT].keep


def test_after_a_redesign_paths_that_more_pages_showed_still_speak():
    def with_former(pages: int) -> float:
        former = PathVerdict(keep=False, probability=0.0, pages=pages, of_pages=pages)
        return learned(former=Known({TEXT: former})).paths[TEXT].probability

    assert with_former(1_000) < 0.5 < with_former(1) == learned().paths[TEXT].probability
