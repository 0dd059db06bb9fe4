from collections.abc import Iterable

import pytest

from scrapy_dedup.store.records.records import KeepPolicy
from scrapy_dedup.store.records.stored import ExtractionChoice, ExtractionFigures
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.store.builders import a_document, a_key, a_time, an_extraction

EVERYTHING = ExtractionChoice()


def memos(project: ProjectStore, pages: Iterable[object] = (1, 2, *"abcd")) -> set[bytes]:
    return {extraction.memo_key for page in pages for extraction in project.extractions_of(a_key(page))}


def memo(name: object = 1, content: object = "c") -> bytes:
    return an_extraction(name, content).memo_key


@pytest.mark.parametrize("value", [object(), {1, 2}, a_time(), b"bytes"])
def test_what_would_not_come_back_as_it_is_is_not_taken(project: ProjectStore, value: object) -> None:
    with pytest.raises(TypeError, match="not JSON serializable"):
        project.write([an_extraction(items=[{"value": value}])])


@pytest.mark.parametrize("at_once", [True, False])
def test_the_oldest_extractions_of_a_page_go(store: Store, *, at_once: bool) -> None:
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
def test_chosen_extractions_are_deleted(store: Store, project: ProjectStore, choice: ExtractionChoice, left: str):
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
