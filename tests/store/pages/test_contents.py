import random
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, select

from scrapy_dedup.store.records.records import CleanedRecord, KeepPolicy, Record
from scrapy_dedup.store.records.stored import ExtractionChoice, ExtractionFigures
from scrapy_dedup.store.repositories import SourceRepository
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.tables.models import Project, SourceRow, SourceVersion
from scrapy_dedup.store.writer import ProjectStore
from tests.store.builders import a_document, a_key, a_source, a_time, an_extraction, source_of


def stored_bytes(store: Store) -> int:
    """Return the running total, after checking it against what is there."""
    with store.session(read_only=True) as session:
        total = session.scalars(select(Project.stored_bytes)).all()
        originals = session.execute(select(SourceRow.content, SourceRow.cleaned_content)).all()
        versions = session.scalars(select(SourceVersion.content)).all()
    texts = sum(len((cleaned or "").encode()) for _, cleaned in originals)
    assert sum(total) == sum(len(content or b"") for content, _ in originals) + texts + sum(map(len, versions))
    return sum(total)


def noise(seed: int, size: int = 1000) -> str:
    """Return a text that does not compress below three quarters of its size."""
    return "".join(chr(c) for c in random.Random(seed).choices(range(33, 127), k=size))


def past(project: ProjectStore, name: object = 1) -> list[str]:
    return [source_of(project, name).content or "", *(version.content for version in project.versions(a_key(name)))]


def test_an_older_original_never_replaces_a_newer_one(store):
    """Two crawls of one site may write at once, and one of them later than it fetched."""
    project = store.project("p", KeepPolicy(pages=3))
    project.write([a_source(content="new", fetched_at=a_time(2))])

    project.write([a_source(content="old", fetched_at=a_time(1))])

    assert past(project) == ["new"]


def test_beyond_the_bound_the_oldest_contents_go(store):
    project = store.project("p", KeepPolicy(max_bytes=10_000))
    for number in range(40):
        project.write(
            [a_source(number, content=noise(number), cleaned_content="c" * 100, title="T", fetched_at=a_time(number))]
        )
        assert stored_bytes(store) <= 10_000

    kept = [number for number in range(40) if source_of(project, number).content is not None]

    assert kept == list(range(40 - len(kept), 40))
    assert 8 <= len(kept) <= 11
    assert source_of(project, 0).title == "T"
    assert source_of(project, 0).cleaned_content is None


def test_older_versions_go_before_pages(store):
    project = store.project("p", KeepPolicy(pages=5, max_bytes=5_000))
    for hour in range(4):
        project.write([a_source(n, content=noise(10 * hour + n), fetched_at=a_time(hour)) for n in range(3)])
        assert stored_bytes(store) <= 5_000

    assert all(source_of(project, number).content for number in range(3))


def test_neither_a_page_larger_than_the_bound_nor_its_text_is_kept(store):
    project = store.project("p", KeepPolicy(max_bytes=100))
    project.write([a_source(content=noise(1))])
    assert source_of(project).content is None

    project.write([CleanedRecord(a_key(1), "c" * 10_000)])

    assert source_of(project).cleaned_content is None
    assert stored_bytes(store) == 0


def test_texts_cleaned_by_an_analysis_count_too(store):
    project = store.project("p")
    project.write(a_source(number) for number in range(250))

    with store.session() as session:
        given = SourceRepository(session).set_cleaned(
            project.id, (CleanedRecord(a_key(n), f"text {n} ü\0") for n in range(300))
        )
        session.commit()

    assert given == 300
    assert source_of(project, 7).cleaned_content == "text 7 ü\ufffd"
    assert stored_bytes(store) > 0


STEPS: dict[str, Callable[[int, int], Record]] = {
    "source": lambda name, size: a_source(name, content=noise(size, size), fetched_at=a_time(size % 7)),
    "with text": lambda name, size: a_source(name, content=noise(size, size), cleaned_content="ü" * size),
    "text": lambda name, size: CleanedRecord(a_key(name), "ü" * size),
}


@settings(max_examples=30, deadline=None)
@given(
    steps=st.lists(
        st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 4), st.integers(0, 900)), max_size=6)
    ),
    pages=st.sampled_from(["latest", 2, 3, "none"]),
    max_bytes=st.none() | st.integers(0, 3000),
)
def test_the_running_total_is_what_is_there_and_within_the_bound(lasting, steps, pages, max_bytes):
    with lasting.session() as session:
        session.execute(delete(Project))
        session.commit()
    project = lasting.project("p", KeepPolicy(pages=pages, max_bytes=max_bytes))
    for batch in steps:
        project.write([STEPS[kind](name, size) for kind, name, size in batch])
        assert max_bytes is None or stored_bytes(lasting) <= max_bytes
    stored_bytes(lasting)


EVERYTHING = ExtractionChoice()


def memos(project: ProjectStore, pages: Iterable[object] = (1, 2, *"abcd")) -> set[bytes]:
    return {extraction.memo_key for page in pages for extraction in project.extractions_of(a_key(page))}


def memo(name: object = 1, content: object = "c") -> bytes:
    return an_extraction(name, content).memo_key


@pytest.mark.parametrize("value", [object(), {1, 2}, a_time(), b"bytes"])
def test_what_would_not_come_back_as_it_is_is_not_taken(project, value):
    with pytest.raises(TypeError, match="not JSON serializable"):
        project.write([an_extraction(items=[{"value": value}])])


@pytest.mark.parametrize("at_once", [True, False])
def test_the_oldest_extractions_of_a_page_go(store, *, at_once):
    project = store.project("p", KeepPolicy(extractions=2))
    records = [an_extraction(page, n, created_at=a_time(n)) for n in range(5) for page in (1, 2)]
    for batch in [records] if at_once else [[record] for record in records]:
        project.write(batch)

    assert memos(project) == {memo(page, n) for n in (3, 4) for page in (1, 2)}


@pytest.mark.parametrize(
    ("choice", "left"),
    [
        pytest.param(EVERYTHING, "", id="all"),
        pytest.param(ExtractionChoice(page_keys=[a_key("a"), a_key("x")]), "bcd", id="pages"),
        pytest.param(ExtractionChoice(page_keys=[]), "abcd", id="no-pages"),
        pytest.param(ExtractionChoice(memo_keys=[memo("b"), memo("b")]), "acd", id="memos"),
        pytest.param(ExtractionChoice(domain="c.example"), "abd", id="domain"),
        pytest.param(ExtractionChoice(created_before=a_time(2)), "cd", id="age"),
        pytest.param(ExtractionChoice(outdated=True), "a", id="outdated"),
        pytest.param(ExtractionChoice(page_keys=[a_key("a"), a_key("b")], outdated=True), "acd", id="all-must-hold"),
        pytest.param(ExtractionChoice(page_keys=[a_key(n) for n in range(1200)] + [a_key("d")]), "abc", id="many"),
    ],
)
def test_chosen_extractions_are_deleted(store, project, choice, left):
    project.write(an_extraction(name, domain=f"{name}.example", created_at=a_time(n)) for n, name in enumerate("abcd"))
    project.write([a_document("a", content_hash=a_key("c")), a_document("b", content_hash=a_key("newer"))])
    other = store.project("other")
    other.write(an_extraction(name) for name in "abcd")
    total = sum(each.packed_bytes for each in project.extraction_figures().values())

    would = project.delete_extractions(choice, dry_run=True)
    assert len(memos(project)) == 4
    did = project.delete_extractions(choice, dry_run=False)

    assert memos(project) == {memo(name) for name in left}
    assert did == would
    assert did == ExtractionFigures(4 - len(left), did.packed_bytes)
    assert did.packed_bytes == total - sum(each.packed_bytes for each in project.extraction_figures().values())
    assert len(memos(other)) == 4
