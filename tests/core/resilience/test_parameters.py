from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.resilience.parameters import Decided, ParameterTrials
from tests.tables import table

SITE = "http://a.example"
OTHER = "Some other words that stand on a page of this kind, enough of them."


def text(name: str) -> list[str]:
    return ["The menu", f"What stands on the page {name}, and it is long enough to tell.", "10:31:59"]


def fetched(parameters: ParameterTrials, url: str, texts: list[str]) -> list[Decided]:
    tests = parameters.tests(SITE + url)
    parameters.sent(SITE + url, tests)
    parameters.came(SITE + url, tests)
    return parameters.note(SITE + url, texts)


@table("core/session_is_known_after_a_handful_of_pages")
def test_session_is_known_after_a_handful_of_pages(form):
    parameters = ParameterTrials()
    decided: list[Decided] = []
    values = iter(f"4f2a9c0{number}d3" for number in range(99))
    pages = 0
    for page in "xyzxyz":
        pages += 1
        decided += fetched(parameters, form.format(page=page, value=next(values)), text(page))

    assert pages == 6
    assert {(one.domain, one.same, one.different, one.is_ignored) for one in decided} == {("a.example", 3, 0, True)}
    assert parameters.ignored.without(SITE + form.format(page="x", value="4f2a9c099d3")).rstrip("/") == f"{SITE}/x"
    assert decided[0].evidence == "3 pages were the same with another value or without it, 0 were not"


@pytest.mark.parametrize("name", ["id", "page", "lang", "q", "offset"])
def test_parameter_that_selects_by_its_name_is_never_dropped(name):
    """Also where pages are the same: of a page in two languages that was not translated yet."""
    parameters = ParameterTrials()
    for value in range(30):
        for page in "xyz":
            fetched(parameters, f"/{page}?{name}={value}", text(page))

    assert parameters.ignored.of("a.example") == frozenset()
    assert parameters.tests(f"{SITE}/x?{name}=99") == ()


def test_parameter_that_changed_a_page_once_is_never_dropped():
    parameters = ParameterTrials()
    fetched(parameters, "/x?view=1", text("x"))
    fetched(parameters, "/x?view=2", [OTHER])
    for value in range(30):
        for page in "xyz":
            fetched(parameters, f"/{page}?view={value}", text(page))

    assert parameters.ignored.of("a.example") == frozenset()


def test_one_page_is_tried_at_a_time_while_it_is_open():
    parameters = ParameterTrials()
    fetched(parameters, "/x?sid=4f2a9c01d3", text("x"))
    url = f"{SITE}/x?sid=4f2a9c02d3"
    tests = parameters.tests(url)
    before = parameters.is_full(url, tests)
    parameters.sent(url, tests)

    assert (tests, before) == (("sid",), False)
    other = f"{SITE}/x?sid=4f2a9c03d3"
    assert parameters.is_full(other, parameters.tests(other))
    parameters.came(url, tests)
    assert not parameters.is_full(other, parameters.tests(other))


def learned() -> ParameterTrials:
    parameters = ParameterTrials()
    parameters.recall(
        [Decided("a.example", "sid", 5, 0, is_ignored=True), Decided("a.example", "x", 1, 2, is_ignored=False)]
    )
    return parameters


def test_dropped_requests_are_tried_now_and_then():
    parameters = learned()

    assert [at for at in range(1, 1_200) if parameters.dropped(f"{SITE}/p?sid={at}&x=1")] == [100, 1_000]
    assert not parameters.dropped("http://b.example/p?sid=1")


def test_parameter_that_turns_out_to_mean_something_counts_again():
    parameters = learned()
    texts = [text("p"), text("p"), [OTHER], [OTHER]]

    found = [parameters.note(f"{SITE}/p?sid={value}", shown) for value, shown in enumerate(texts)]

    assert found[:3] == [[], [], []]
    assert found[3] == [Decided("a.example", "sid", 6, 2, is_ignored=False)]
    assert parameters.ignored.of("a.example") == frozenset()
    assert parameters.take_changed() == found[3]


def test_same_request_again_is_no_trial():
    parameters = learned()
    parameters.note(f"{SITE}/p?sid=1", text("p"))

    assert parameters.note(f"{SITE}/p?sid=1", [OTHER]) == []
    assert parameters.take_changed() == []


def test_memory_is_bounded():
    parameters = ParameterTrials(most=3)
    for page in range(9):
        fetched(parameters, f"/{page}?sid=4f2a9c0{page}d3", text(str(page)))
    parameters.recall([Decided("a.example", "other", 5, 0, is_ignored=True)])
    for page in range(9):
        fetched(parameters, f"/{page}?other={page}", text(str(page)))

    assert len(parameters._pages) == 3


def test_names_of_one_host_are_bounded():
    parameters = ParameterTrials()
    for name in range(200):
        for value in range(2):
            fetched(parameters, f"/{value}?n{name}=4f2a9c0{value}d3", text("x"))

    assert len(parameters._names) == 64


@given(st.lists(st.tuples(st.text(), st.lists(st.text(), max_size=3)), max_size=10))
def test_any_text_is_taken(pages):
    parameters = ParameterTrials()
    for rest, texts in pages:
        arguments: Any = (parameters, f"/{rest}", texts)
        fetched(*arguments)
        parameters.dropped(SITE + rest)
