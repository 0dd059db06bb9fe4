"""Who holds a text, and who comes next."""

import uuid
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_dedup.core.chunks.chunks import HOLDING
from scrapy_dedup.store.records.records import ForgetRecord, GoneRecord, Record
from scrapy_dedup.store.records.shared import MOVED, Question
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.store.builders import DOMAIN, NOON, a_chunk, a_chunks, a_document, a_key


def holders(project: ProjectStore, text: str, asked_by: object = "nobody") -> list[bytes]:
    question = Question(a_key(asked_by), DOMAIN, hashes=frozenset([a_key(text)]))
    return project.others(question).holders.get(a_key(text), [])


def with_text(name: object, *texts: str, left_out: Sequence[tuple[str, object]] = ()) -> list[Record]:
    """A completed page that gives some texts and leaves others to their holders."""
    given_out = [a_chunk(place, text) for place, text in enumerate(texts)]
    others = [
        a_chunk(len(texts) + place, text, state="removed", layer="chunk", holder=a_key(holder))
        for place, (text, holder) in enumerate(left_out)
    ]
    return [a_document(name), a_chunks(name, *given_out, *others)]


@pytest.mark.parametrize(
    "gone",
    [
        pytest.param([ForgetRecord(a_key(1))], id="forgotten"),
        pytest.param([GoneRecord(a_key(1), NOON)], id="removed-from-its-site"),
        pytest.param(with_text(1, "something else"), id="changed"),
    ],
)
def test_a_text_moves_to_the_next_page_when_its_holder_disappears(project: ProjectStore, gone: list[Record]) -> None:
    project.write(with_text(1, "shared") + with_text(2, left_out=[("shared", 1)]))

    project.write(gone)

    (moved,) = project.chunks_of(a_key(2))
    assert (moved.state, moved.layer, moved.holder, moved.reason) == ("due", None, None, MOVED)
    assert holders(project, "shared") == [a_key(2)]


PAGES, TEXTS = range(4), ("a", "b", "c")
CRAWLED = st.tuples(st.sampled_from(PAGES), st.lists(st.sampled_from(TEXTS), unique=True))
EVENTS = st.lists(st.one_of(CRAWLED, st.sampled_from(PAGES)), max_size=14)


@settings(max_examples=60, deadline=None)
@given(events=EVENTS, most=st.integers(1, 3))
def test_every_text_lives_in_so_many_pages_whatever_comes_in_whatever_order(
    lasting: Store, events: list[tuple[int, list[str]] | int], most: int
) -> None:
    """A page is crawled, with other texts than before perhaps, or it is gone; texts move to whoever else has them."""
    project = lasting.project(str(uuid.uuid4()))
    having: dict[int, list[str]] = {}
    for event in events:
        if isinstance(event, int):
            having.pop(event, None)
            project.write([GoneRecord(a_key(event), NOON)])
            continue
        page, texts = event
        having[page] = texts
        taken = {text: found for text in texts if len(found := holders(project, text, page)) >= most}
        chunks = [
            a_chunk(place, text, state="removed", layer="chunk", holder=taken[text][0])
            if text in taken
            else a_chunk(place, text)
            for place, text in enumerate(texts)
        ]
        project.write([a_document(page), a_chunks(page, *chunks, most_holders=most)])

    for text in TEXTS:
        pages = [page for page, texts in having.items() if text in texts]
        held = [
            page
            for page in pages
            if any(one.content_hash == a_key(text) and one.state in HOLDING for one in project.chunks_of(a_key(page)))
        ]
        assert len(held) == len(holders(project, text))
        assert min(len(pages), 1) <= len(held) <= most
