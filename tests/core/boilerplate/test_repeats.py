from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.boilerplate.repeats import (
    REPEATED_HTML,
    Boilerplate,
    BoundedCounts,
    Epochs,
    PageCounts,
    Removal,
    RepeatPolicy,
    compute_domain_fingerprint,
    hash_block,
    judge_blocks,
    repeated,
    split_into_blocks,
    strip_boilerplate,
    text_fingerprints,
)
from tests.tables import table

BANNER = "We use cookies to give you the best experience on our site. Accept all or choose your settings."
FOOTER = "Copyright 2024 Example Corporation. All rights reserved. Terms, privacy and imprint are below."


def a_text(number: int) -> str:
    return f"Paragraph {number} says something that no other page of this whole site says in these words."


def pages_with(block: str, on: int, of: int) -> list[str]:
    return [f"{block}\n\n{a_text(number)}" if number < on else a_text(number) for number in range(of)]


class TestSplitIntoBlocks:
    def test_splits_on_double_newlines(self):
        assert split_into_blocks("one\n\ntwo\n \t\n\nthree\nstill three", 1) == ["one", "two", "three\nstill three"]

    @pytest.mark.parametrize(("chars", "kept"), [(49, False), (50, True)])
    def test_filters_short_blocks(self, chars, *, kept):
        assert split_into_blocks(f"  {'x' * chars}  \n\nshort") == (["x" * chars] if kept else [])

    @pytest.mark.parametrize("content", ["", "\n", " \n\n \n\n"])
    def test_handles_empty_content(self, content):
        assert split_into_blocks(content) == []

    def test_preserves_block_content(self):
        block = "| a  |  B |\n| -- | -- |\n| *1* | `two  spaces` inside a table of this size |"

        assert split_into_blocks(f"\n\n{block}\n\n") == [block]


class TestHashBlock:
    def test_deterministic_output(self):
        assert hash_block("Accept  Cookies") == hash_block("Accept  Cookies") == "7b48aa3c1b260693"

    @pytest.mark.parametrize("other", ["Accept\tall\ncookies", "  ACCEPT all   cookies\n", "Accept\u00a0all cookies"])
    def test_whitespace_and_case_normalized(self, other):
        assert hash_block(other) == hash_block("Accept all cookies")

    def test_half_a_character_has_a_hash(self):
        """Python can hold half of a pair of surrogates, from JSON or a wrong charset; no encoding can."""
        assert hash_block("\ud800")


class TestComputeDomainFingerprint:
    def test_identifies_boilerplate_above_threshold(self):
        found = compute_domain_fingerprint(pages_with(BANNER, on=8, of=10))

        assert found.boilerplate_hashes == [hash_block(BANNER)]
        assert (found.pages_analyzed, found.blocks_total, found.blocks_boilerplate) == (10, 11, 1)

    def test_skips_when_below_min_pages(self):
        found = compute_domain_fingerprint([BANNER] * 4)

        assert found.boilerplate_hashes == []
        assert (found.pages_analyzed, found.blocks_total, found.blocks_boilerplate) == (4, 1, 0)

    @table("core/respects_threshold_pct")
    def test_respects_threshold_pct(self, on, of, threshold_pct, min_pages, *, is_boilerplate):
        found = compute_domain_fingerprint(pages_with(BANNER, on, of), threshold_pct, min_pages)

        assert found.boilerplate_hashes == ([hash_block(BANNER)] if is_boilerplate else [])

    @pytest.mark.parametrize("pages", [[], [""] * 10, ["\n\n"] * 10])
    def test_handles_empty_pages(self, pages):
        found = compute_domain_fingerprint(pages)

        assert found.boilerplate_hashes == []
        assert (found.pages_analyzed, found.blocks_total) == (len(pages), 0)

    def test_real_world_cookie_banner(self):
        """The banner differs in layout from page to page, as scrapers leave it."""
        pages = [
            f"# Page {n}\n\n{BANNER.replace(' ', '  ' if n % 2 else ' ')}\n\n{a_text(n)}\n\n{FOOTER}" for n in range(12)
        ]

        found = compute_domain_fingerprint(pages)

        assert set(found.boilerplate_hashes) == {hash_block(BANNER), hash_block(FOOTER)}
        assert strip_boilerplate(pages[3], set(found.boilerplate_hashes))[0].split("\n\n")[:2] == [
            "# Page 3",
            a_text(3),
        ]


class TestStripBoilerplate:
    def test_preserves_unique_content(self):
        content = f"# Title\n\n{a_text(1)}\n  \n- short\n\n{a_text(2)}\n"

        assert strip_boilerplate(content, {hash_block(BANNER)}) == (content, 0)

    def test_collapses_blank_lines_after_removal(self):
        content = f"{a_text(1)}\n\n{BANNER}\n\n{a_text(2)}"

        assert strip_boilerplate(content, {hash_block(BANNER)})[0] == f"{a_text(1)}\n\n{a_text(2)}"

    def test_collapses_blank_lines_where_nothing_is_removed(self):
        assert strip_boilerplate("a\n\n\n\nb", set()) == ("a\n\nb", 2)

    def test_returns_correct_bytes_removed(self):
        content = f"{a_text(1)}\n\nÜber Größe und {BANNER}"

        cleaned, removed = strip_boilerplate(content, {hash_block(f"Über Größe und {BANNER}")})

        assert removed == len(content.encode()) - len(cleaned.encode()) == len(BANNER) + len("Über Größe und ") + 3

    def test_short_blocks_stay_even_if_their_hash_is_listed(self):
        assert strip_boilerplate("Products", {hash_block("Products")}) == ("Products", 0)


blocks = st.text(alphabet="ab \n\t", max_size=12)
texts = st.lists(blocks, max_size=6).map("\n\n".join)


@given(st.lists(texts, max_size=8), st.randoms(use_true_random=False))
def test_order_of_pages_and_of_blocks_does_not_matter(pages, random):
    def shuffled(content: str) -> str:
        parts = split_into_blocks(content, 1)
        random.shuffle(parts)
        return "\n\n".join(parts)

    other = [shuffled(page) for page in pages]
    random.shuffle(other)

    assert compute_domain_fingerprint(other, 0.5, 2, 1) == compute_domain_fingerprint(pages, 0.5, 2, 1)


@given(st.lists(texts, min_size=2, max_size=8), st.integers(1, 4))
def test_repeating_a_block_within_a_page_changes_nothing(pages, times):
    repeated = ["\n\n".join([page] * times) for page in pages]

    assert compute_domain_fingerprint(repeated, 0.5, 2, 1) == compute_domain_fingerprint(pages, 0.5, 2, 1)


@given(texts, st.data())
def test_stripping_is_idempotent_and_counts_bytes(content, data):
    parts = split_into_blocks(content, 1)
    hashes = set(map(hash_block, data.draw(st.lists(st.sampled_from(parts))) if parts else []))

    cleaned, removed = strip_boilerplate(content, hashes, 1)

    assert removed == len(content.encode()) - len(cleaned.encode())
    assert strip_boilerplate(cleaned, hashes, 1) == (cleaned, 0)
    assert text_fingerprints(cleaned, 1) == [key for key in text_fingerprints(content, 1) if key not in hashes]


class TestHtmlMethod:
    def test_blocks_of_any_length_repeat(self):
        counts = PageCounts[int]()
        for page in range(10):
            counts.add([1, 2, 100 + page])

        assert counts.boilerplate(RepeatPolicy()) == Boilerplate(pages=10, counts={1: 10, 2: 10}, blocks_total=12)

    def test_nothing_is_boilerplate_on_too_few_pages(self):
        counts = PageCounts[int]()
        for _ in range(4):
            counts.add([1])

        assert counts.boilerplate(RepeatPolicy(min_pages=5)) == Boilerplate(pages=4, counts={}, blocks_total=1)

    def test_evidence_says_on_how_many_pages(self):
        verdicts = judge_blocks([1, 7, 2], Boilerplate(pages=44, counts={1: 41, 2: 44}, blocks_total=9))

        assert verdicts == [
            Removal(1, repeated(REPEATED_HTML, 41, 44)),
            None,
            Removal(2, repeated(REPEATED_HTML, 44, 44)),
        ]
        assert [verdict.rule.evidence for verdict in verdicts if verdict] == ["on 41 of 44 pages", "on 44 of 44 pages"]

    @table("core/a_page_that_would_be_left_empty_is_kept_whole")
    def test_a_page_that_would_be_left_empty_is_kept_whole(self, fingerprints, removed):
        verdicts = judge_blocks(fingerprints, Boilerplate(pages=9, counts={1: 9, 2: 9}))

        assert len(verdicts) == len(fingerprints)
        assert sum(verdict is not None for verdict in verdicts) == removed


POLICY = RepeatPolicy(0.7, 2)
OLD, NEW = list(range(20)), list(range(100, 120))

Pages = list[list[int]]
pages = st.lists(st.lists(st.integers(0, 30), max_size=8), max_size=40)
policies = st.builds(RepeatPolicy, st.floats(0.1, 1.0), st.integers(2, 10))


def fed(pages: list[list[int]], *, epoch_pages: int = 10) -> Epochs:
    epochs = Epochs(POLICY, epoch_pages=epoch_pages)
    for number, page in enumerate(pages):
        epochs.add([*page, 10_000 + number])
    return epochs


@given(st.lists(st.lists(st.integers(0, 9), max_size=6), max_size=60), st.integers(1, 12))
def test_what_repeats_on_all_pages_is_found_whatever_the_epochs(pages, epoch_pages):
    plain = BoundedCounts(10_000)
    for number, page in enumerate(pages):
        plain.add([*page, 10_000 + number])
    epochs = fed(pages, epoch_pages=epoch_pages)

    found, expected = epochs.boilerplate(), plain.boilerplate(POLICY)

    assert (found.pages, found.blocks_total) == (expected.pages, expected.blocks_total)
    assert found == expected or (epochs.redesigns and found.counts.items() >= expected.counts.items())


@pytest.mark.parametrize(
    ("at", "since"), [pytest.param(50, 50, id="between-epochs"), pytest.param(55, 60, id="within-an-epoch")]
)
def test_a_redesign_is_found_where_it_begins_and_the_blocks_of_both_designs_repeat(at, since):
    epochs = fed([OLD] * at + [NEW] * (100 - at))

    assert epochs.redesigns == [50]
    assert list(epochs.latest().counts) == NEW
    assert epochs.boilerplate().counts == dict.fromkeys(OLD, 50) | dict.fromkeys(NEW, 100 - since)


@pytest.mark.parametrize(
    ("new", "found"), [pytest.param(4, False, id="too-few"), pytest.param(5, True), pytest.param(10, True)]
)
@pytest.mark.parametrize("old", [10, 100])
def test_a_redesign_is_found_before_its_first_epoch_is_over(old, new, *, found):
    epochs = fed([OLD] * old + [NEW] * new)

    assert epochs.redesigns == [old] * found
    assert list(epochs.boilerplate().counts) == (OLD + NEW if found else OLD)
    assert epochs.boilerplate().of_design.items() >= dict.fromkeys(NEW * found, new).items()


def counted(of: Pages, most_blocks: int) -> BoundedCounts:
    counts = BoundedCounts(most_blocks)
    for page in of:
        counts.add(page)
    return counts


def true_counts(of: Pages) -> Counter[int]:
    return Counter(key for page in of for key in set(page))


def plain(of: Pages) -> PageCounts[int]:
    counts = PageCounts[int]()
    for page in of:
        counts.add(page)
    return counts


def is_certain(bounded: BoundedCounts, policy: RepeatPolicy) -> bool:
    """Say whether no block that was forgotten can be on enough pages; else none of them is found, and text stays."""
    return bounded.pages < policy.min_pages or bounded.floor < policy.needed(bounded.pages)


@given(pages, st.integers(1, 20))
def test_beyond_it_the_true_count_is_within_the_bounds(of, most_blocks):
    bounded = counted(of, most_blocks)

    assert len(bounded) <= most_blocks
    for key, count in true_counts(of).items():
        low, high = bounded.bounds(key)
        assert low <= count <= high
        assert high - low <= bounded.floor


@given(pages, policies, st.integers(1, 20))
def test_with_a_second_look_all_decisions_are_those_of_an_exact_count(of, policy, most_blocks):
    bounded, true = counted(of, most_blocks), true_counts(of)
    settled = {key: true[key] for key in bounded.doubtful(policy)}

    if is_certain(bounded, policy):
        found = bounded.boilerplate(policy, settled).counts
        assert list(found) == list(plain(of).boilerplate(policy).counts)


@given(pages, pages, st.integers(1, 20), st.integers(1, 20))
def test_merged_counts_bound_those_of_all_pages(one, other, most, others_most):
    merged, second = counted(one, most), counted(other, others_most)
    floors = merged.floor + second.floor
    merged.merge(second)

    assert merged.pages == len(one) + len(other)
    assert len(merged) <= most
    assert merged.floor >= floors
    for key, count in true_counts(one + other).items():
        low, high = merged.bounds(key)
        assert low <= count <= high


def test_blocks_that_come_again_and_again_are_forgotten_in_few_passes():
    """A floor that rose by one page at a time would take as many passes as they have pages."""
    bounded = counted([list(range(50))] * 200, most_blocks=50)
    bounded.add([-1])

    assert len(bounded) <= 50
    assert bounded.floor == 200
    assert not is_certain(bounded, RepeatPolicy())


@pytest.mark.parametrize("of", [pytest.param(3, id="too-few"), pytest.param(5, id="enough")])
def test_with_too_few_pages_nothing_is_in_doubt_or_found(of):
    bounded = counted([[1, 2, page + 10] for page in range(of)], most_blocks=2)
    policy = RepeatPolicy(0.7, 5)

    assert bool(bounded.boilerplate(policy).counts or bounded.doubtful(policy) or not is_certain(bounded, policy)) is (
        of >= policy.min_pages
    )
