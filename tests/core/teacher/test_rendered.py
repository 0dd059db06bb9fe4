import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.teacher.numbering import MOST_ELEMENTS, NO_ELEMENT
from scrapy_dedup.core.teacher.rendered import Flag, Snapshot, SnapshotError
from tests.core.snapshots import Recorded, recorded
from tests.tables import table

ANSWER = recorded("article").answer


def changed(name: str, value: object) -> dict[str, Any]:
    return ANSWER | {name: value}


def with_row(name: str, place: int, value: object) -> dict[str, Any]:
    rows = copy.deepcopy(ANSWER[name])
    rows[0][place] = value
    return changed(name, rows)


def test_each_element_of_the_page_that_came_is_seen_once_in_its_place_with_its_type() -> None:
    page = recorded("article")
    heading = page.snapshot.elements[page.numbered.tags.index("h1")]

    assert set(page.snapshot.elements) == set(range(len(page.numbered.tags)))
    assert (page.snapshot.elements[0].box.width, page.snapshot.width, page.snapshot.js_share) == (1366, 1366, 0)
    assert (heading.font_size, heading.weight, heading.box.width) == (32, 700, 760)


@table("core/what_hides_or_lifts_a_text_is_told")
def test_what_hides_or_lifts_a_text_is_told(words: str, flags: list[str]) -> None:
    page = recorded("article")
    place = next(place for place, block in enumerate(page.page.blocks) if block.text == words)
    number = page.numbered.of_blocks[place]
    runs = [
        run for run in page.snapshot.runs if page.snapshot.elements[number].box and _is_in(page, run.number, number)
    ]

    assert runs
    assert all(run.flags & Flag[flag] for run in runs for flag in flags)


def _is_in(page: Recorded, number: int, block: int) -> bool:
    while number not in (NO_ELEMENT, block):
        number = page.numbered.parents[number]
    return number == block


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(None, id="nothing"),
        pytest.param([], id="list"),
        pytest.param({}, id="empty"),
        pytest.param(changed("version", 2), id="other-version"),
        pytest.param(changed("elements", "a"), id="no-rows"),
        pytest.param(changed("elements", [1]), id="row-is-no-list"),
        pytest.param(changed("runs", [[1, 2]]), id="short-row"),
        pytest.param(changed("runs", [[0] * 8 + [1]] * (MOST_ELEMENTS + 1)), id="too-many-rows"),
        pytest.param(changed("width", 1.5), id="fraction"),
        pytest.param(changed("height", True), id="boolean"),
        pytest.param(changed("height", -1), id="negative"),
        pytest.param(changed("css_chars", "many"), id="words"),
        pytest.param(with_row("elements", 0, MOST_ELEMENTS + 1), id="number-too-large"),
        pytest.param(with_row("elements", 1, 10**9), id="far-away"),
        pytest.param(with_row("elements", 3, -1), id="negative-width"),
        pytest.param(with_row("runs", 0, -2), id="no-such-number"),
        pytest.param(with_row("runs", 5, 1 << 13), id="unknown-flag"),
        pytest.param(with_row("runs", 8, 0), id="run-without-text"),
        pytest.param(with_row("runs", 6, {"toString": "x"}), id="object"),
    ],
)
def test_what_a_hostile_page_answers_is_refused(answer: object) -> None:
    with pytest.raises(SnapshotError):
        Snapshot.from_json(answer)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from([*ANSWER, "other"]), inner, max_size=9),
    max_leaves=20,
)


@given(JSON, st.sampled_from(sorted(ANSWER)))
def test_any_answer_is_read_or_refused(value: object, name: str) -> None:
    try:
        found = Snapshot.from_json(changed(name, value))
    except SnapshotError:
        return

    assert isinstance(found, Snapshot)
