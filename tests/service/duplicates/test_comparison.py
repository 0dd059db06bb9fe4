"""Whatever the order of pages, no text is lost, and none goes out twice."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_dedup.core.chunks.chunks import HOLDING
from scrapy_dedup.service.duplicates.index import PageComparison
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.writer import ProjectStore
from tests.service.known_facts import SETTINGS, Run, a_fact, a_paragraph
from tests.service.known_facts import given as texts_of
from tests.store.builders import NOON, a_key

PARAGRAPHS = st.lists(st.integers(0, 5), min_size=1, max_size=4)
Pages = dict[int, list[int]]
PAGES = st.dictionaries(st.integers(0, 6), PARAGRAPHS, min_size=1, max_size=6)
FEW = settings(max_examples=50)
TEN = list(range(10))
NEARLY = [*TEN[:9], 99]


def holders_of(project: ProjectStore, names: Sequence[object]) -> Counter[bytes]:
    """Return how many pages hold each text, as the store has it."""
    found: Counter[bytes] = Counter()
    for name in names:
        found.update({chunk.content_hash for chunk in project.chunks_of(a_key(name)) if chunk.state in HOLDING})
    return found


NUMBERS = count()


class TestTexts:
    @FEW
    @given(st.data(), PAGES, st.integers(1, 4), st.integers(1, 8), st.integers(1, 3))
    def test_go_out_with_one_to_n_pages_in_any_order(self, lasting, data, pages, at_once, written_every, most):
        """Some pages ask at once, and some are written while others wait."""
        names = data.draw(st.permutations(sorted(pages)))
        chosen = replace(SETTINGS, chunk_min_documents=most)
        run = Run(lasting.project(f"order-{next(NUMBERS)}"), chosen)
        given_out: list[PageComparison] = []
        for start in range(0, len(names), at_once):
            facts = [a_fact(name, pages[name], chosen) for name in names[start : start + at_once]]
            found = [run.ask(one) for one in facts]
            given_out += [run.decide(one, answer) for one, answer in zip(facts, found, strict=True)]
            if (start + 1) % written_every == 0:
                run.write()
        run.write()

        went = Counter(text for one in given_out for text in set(texts_of(one)))
        wanted = Counter(number for name in names for number in set(pages[name]))
        assert went.keys() == {a_paragraph(number) for number in wanted}
        assert all(went[a_paragraph(number)] <= min(most, pages) for number, pages in wanted.items())
        assert sorted(holders_of(run.project, names).values()) == sorted(went.values())

    @FEW
    @given(PAGES, PAGES, st.sets(st.integers(0, 6)), st.integers(1, 5), st.booleans())
    def test_are_held_by_one_page_after_changes_and_failures(
        self, lasting, first, second, failing, written_every, is_same_write
    ):
        """What a page that failed had, or one that changed, moves to the next page that has it."""
        # Another page may stand for one that then fails, which is for the next crawl to find out.
        chosen = replace(SETTINGS, duplicate_enabled=False)
        run = Run(lasting.project(f"failures-{next(NUMBERS)}"), chosen)
        for pages in (first, second):
            run = run.later()
            for number, name in enumerate(sorted(pages), 1):
                run.give(a_fact(name, pages[name], chosen))
                if number % written_every == 0:
                    run.write()
        if not is_same_write:
            run.write()
        for name in sorted(failing):
            run.fail(a_fact(name, [], chosen))
        run.write()

        versions = {name: pages for name, pages in (first | second).items() if name not in failing}
        held = holders_of(run.project, sorted({*first, *second}))
        assert held.keys() == {one.key for name, numbers in versions.items() for one in a_fact(name, numbers).chunks}
        assert set(held.values()) <= {1}


class TestPageThatFails:
    """Its text goes to the next page that has it, whenever it is written."""

    @pytest.mark.parametrize("written", [(), (1,), (2,), (1, 2)], ids=["at-the-end", "first", "second", "each"])
    def test_releases_its_text(self, project, written):
        run = Run(project)
        first, second = a_fact(1, [1, 2]), a_fact(2, [2, 3])
        for number, one in enumerate((first, second), 1):
            run.give(one)
            if number in written:
                run.write()
        run.fail(first)
        run.write()

        assert [chunk.state for chunk in project.chunks_of(a_key(2))] == ["due", "added"]

    def test_releases_its_text_to_a_page_that_asked_before(self, project):
        run = Run(project)
        run.give(first := a_fact(1, [1, 2]))
        run.write()
        second = a_fact(2, [2, 3])
        found = run.ask(second)
        run.fail(first)

        assert texts_of(run.decide(second, found)) == [a_paragraph(2), a_paragraph(3)]


class TestCounts:
    def test_agree_with_what_is_written_down(self, project):
        chosen = Settings(near_duplicate_jaccard=0.7)
        run = Run(project, chosen)
        run.give(a_fact(1, TEN))
        found = run.give(a_fact(2, NEARLY))
        run.write()

        said = {(one.layer, one.action): one for one in project.decisions(a_key(2))}
        assert said.keys() == {("near_duplicate", "marked"), ("chunk", "removed")}
        assert said["near_duplicate", "marked"].detail == {
            "keeper": a_key(1).hex(),
            "jaccard": found.same.jaccard if found.same is not None else None,
        }
        assert said["chunk", "removed"].reason == f"9 chunks, {found.counts()['chunk/chars']} characters"
        assert said["chunk", "removed"].decided_at == NOON
