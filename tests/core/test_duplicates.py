"""When another page stands for one."""

from array import array
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_dedup.core import duplicates
from scrapy_dedup.core.duplicates import (
    BANDS,
    DUPLICATE,
    LAYERS,
    MAX_CHARS,
    MOST_ITEMS,
    NEAR_DUPLICATE,
    NO_FIELDS,
    TITLE,
    DuplicatePolicy,
    PageEvidence,
    Same,
    SiteSeen,
    Sketch,
    Text,
    best_seen,
    blocks_of_text,
    files_hash,
    own_words,
    promising,
    proves,
    resemblance,
    shingles,
    sketch_of,
    stands_for,
    words,
)
from scrapy_dedup.core.pages.blocks import Page, parse_page
from tests.tables import table

LONG = " ".join(f"word{number}" for number in range(60))
ALIKE = f"{LONG} and"
MOST = " ".join([*LONG.split()[:45], *(f"other{number}" for number in range(15))])
OTHER = " ".join(f"other{number}" for number in range(60))
SHORT = "Only a caption, no more"
TRUSTING = DuplicatePolicy(trusts_title=True)


def a_text(words: str | None, name: str = "other", *, same_title: bool = False, same_text: str | None = None) -> Text:
    """A page with some words; None: they are not kept, and only its hash is known."""
    said = same_text if same_text is not None else words or name
    return Text(name.encode(), said.encode(), shingles(words) if words is not None else None, same_title)


def layer_of(found: Same | None) -> str | None:
    return found.layer if found is not None else None


@pytest.mark.parametrize(
    ("own", "other", "policy", "layer"),
    [
        pytest.param(LONG, a_text(LONG, same_title=True), DuplicatePolicy(), TITLE, id="title-and-text"),
        pytest.param(LONG, a_text(ALIKE, same_title=True), DuplicatePolicy(), TITLE, id="title-and-a-like-text"),
        pytest.param(LONG, a_text(OTHER, same_title=True), DuplicatePolicy(), None, id="title-with-another-text"),
        pytest.param(LONG, a_text(OTHER, same_title=True), TRUSTING, TITLE, id="title-that-is-trusted"),
        pytest.param(LONG, a_text(None, same_title=True), DuplicatePolicy(), None, id="title-of-a-text-not-kept"),
        pytest.param(LONG, a_text(None, same_title=True), TRUSTING, TITLE, id="trusted-title-of-a-text-not-kept"),
        pytest.param(SHORT, a_text(SHORT, same_title=True), DuplicatePolicy(), None, id="title-and-too-short-a-text"),
        pytest.param(SHORT, a_text(SHORT, same_title=True), TRUSTING, TITLE, id="trusted-title-of-a-short-text"),
        pytest.param(LONG, a_text(LONG), DuplicatePolicy(), DUPLICATE, id="same-text"),
        pytest.param(LONG, a_text(None, same_text=LONG), DuplicatePolicy(), DUPLICATE, id="same-text-not-kept"),
        pytest.param(SHORT, a_text(SHORT), DuplicatePolicy(), None, id="same-text-too-short"),
        pytest.param(LONG, a_text(ALIKE), DuplicatePolicy(), NEAR_DUPLICATE, id="nearly-the-same-text"),
        pytest.param(LONG, a_text(MOST), DuplicatePolicy(), None, id="most-of-the-text"),
        pytest.param(LONG, a_text(MOST), DuplicatePolicy(near_at=0.5), NEAR_DUPLICATE, id="most-where-that-is-enough"),
        pytest.param(LONG, a_text(OTHER), DuplicatePolicy(), None, id="another-text"),
        pytest.param(LONG, a_text(None), DuplicatePolicy(), None, id="another-text-not-kept"),
        pytest.param(None, a_text(LONG), DuplicatePolicy(), None, id="no-words-of-its-own"),
        pytest.param("", a_text(""), DuplicatePolicy(), None, id="two-empty-pages"),
    ],
)
def test_layer_that_finds_a_page(own: str | None, other: Text, policy: DuplicatePolicy, layer: str | None) -> None:
    assert layer_of(stands_for(a_text(own, "own"), [other], 0, policy, LAYERS)) == layer


@pytest.mark.parametrize(("texts", "layer"), [(0, TITLE), (2, TITLE), (3, DUPLICATE), (50, DUPLICATE)])
@pytest.mark.parametrize("policy", [DuplicatePolicy(), TRUSTING], ids=["content", "always"])
def test_title_that_many_texts_have_says_nothing(texts: int, layer: str, policy: DuplicatePolicy) -> None:
    assert layer_of(stands_for(a_text(LONG, "own"), [a_text(LONG, same_title=True)], texts, policy, LAYERS)) == layer


def test_of_several_that_agree_the_earliest_stands() -> None:
    others = [a_text(OTHER, "a", same_title=True), a_text(ALIKE, "c", same_title=True), a_text(LONG, "b")]

    by_title = stands_for(a_text(LONG, "own"), others, 0, DuplicatePolicy(), LAYERS)
    by_text = stands_for(a_text(LONG, "own"), others[::-1], 0, DuplicatePolicy(), [DUPLICATE])

    assert by_title is not None
    assert by_text is not None
    assert (by_title.keeper, by_text.keeper) == (b"c", b"b")


def test_reason_says_how_alike_texts_are() -> None:
    own = a_text(LONG, "own")
    found = [
        stands_for(own, [a_text(LONG, same_title=True)], 0, DuplicatePolicy(), [TITLE]),
        stands_for(own, [a_text(OTHER, same_title=True)], 0, TRUSTING, [TITLE]),
        stands_for(own, [a_text(LONG)], 0, DuplicatePolicy(), [DUPLICATE]),
    ]

    assert [(one.reason, one.jaccard) for one in found if one is not None] == [
        ("the same title, and texts alike by 1.000", 1.0),
        ("the same title, which is trusted", 0.0),
        ("the same text", 1.0),
    ]


TEXTS = st.builds(
    lambda words, name, same_title: a_text(words, name, same_title=same_title),
    st.sampled_from([LONG, ALIKE, MOST, OTHER, SHORT, "", None]),
    st.sampled_from("abc"),
    st.booleans(),
)


@given(TEXTS, st.lists(TEXTS, max_size=4), st.integers(0, 4), st.booleans(), st.sets(st.sampled_from(LAYERS)))
def test_whoever_stands_is_one_of_the_others_by_a_layer_that_was_asked(
    own: Text,
    others: list[Text],
    texts: int,
    trusts: bool,  # noqa: FBT001
    layers: set[str],
) -> None:
    found = stands_for(own, others, texts, DuplicatePolicy(trusts_title=trusts), layers)

    if found is not None:
        assert found.layer in layers
        assert found.keeper in {other.page_key for other in others}
        assert 0 <= found.jaccard <= 1


SITE = SiteSeen(frozenset([1, 2]), 5)
UNKNOWN = SiteSeen()
PRICE = b"price 10"


def shown(
    *blocks: int, body: bytes = b"body", fields: bytes = NO_FIELDS, cut: bytes = b"", files: bytes = bytes(8)
) -> PageEvidence:
    return PageEvidence(body, array("Q", blocks), [fields], cut=cut, files=files)


@pytest.mark.parametrize(
    ("other", "fields", "words", "site", "proven"),
    [
        pytest.param(shown(1, 7), NO_FIELDS, 20, SITE, True, id="same-text-of-twenty-words"),
        pytest.param(shown(2, 7), NO_FIELDS, 20, SITE, True, id="another-menu"),
        pytest.param(shown(1, 8), NO_FIELDS, 20, SITE, False, id="another-text"),
        pytest.param(shown(1, 7, 7), NO_FIELDS, 20, SITE, False, id="a-block-twice"),
        pytest.param(shown(1, 7), NO_FIELDS, 19, SITE, False, id="too-few-words"),
        pytest.param(shown(1, 7), NO_FIELDS, 20, UNKNOWN, False, id="site-not-known"),
        pytest.param(shown(1, 7, body=b"own"), NO_FIELDS, 0, UNKNOWN, True, id="same-bytes"),
        pytest.param(shown(1, 7, body=b"own", fields=PRICE), NO_FIELDS, 0, SITE, False, id="same-bytes-other-fields"),
        pytest.param(shown(1, 7, fields=PRICE), PRICE, 1, SITE, True, id="fields-and-a-word"),
        pytest.param(shown(1, 7, fields=PRICE), PRICE, 0, SITE, False, id="fields-and-no-word"),
        pytest.param(shown(1, 7, fields=PRICE), PRICE, 19, UNKNOWN, False, id="fields-on-an-unknown-site"),
        pytest.param(shown(1, 7, fields=PRICE), PRICE, 20, UNKNOWN, True, id="fields-and-words-on-an-unknown-site"),
        pytest.param(shown(1, 8, fields=PRICE), PRICE, 20, SITE, False, id="fields-and-another-text"),
        pytest.param(shown(1, 7, fields=b"price 12"), PRICE, 20, SITE, False, id="another-price"),
        pytest.param(shown(1, 7), None, 20, SITE, False, id="fields-that-cannot-be-compared"),
        pytest.param(shown(1, 7, files=b"pdf"), NO_FIELDS, 20, SITE, False, id="another-file"),
        pytest.param(shown(2, 7, cut=b"\0\0"), NO_FIELDS, 20, SITE, False, id="another-common-block-that-is-kept"),
        pytest.param(shown(2, 1, 7, cut=b"\1\1\0"), NO_FIELDS, 20, SITE, True, id="one-more-that-is-cut"),
        pytest.param(shown(1, 7, cut=b"\1\0"), NO_FIELDS, 20, SITE, True, id="cut-in-one-of-them"),
    ],
)
def test_item_is_one_that_went_out(
    other: PageEvidence, fields: bytes | None, words: int, site: SiteSeen, *, proven: bool
) -> None:
    # Of an unknown site all blocks count, so that both pages show the same ones.
    own = shown(1, 7, body=b"own")

    assert proves(own, other, fields, words, site) is proven


@pytest.mark.parametrize(
    ("site", "told_by", "proven"),
    [
        pytest.param(UNKNOWN, SITE, True, id="by-what-the-other-knew"),
        pytest.param(UNKNOWN, UNKNOWN, False, id="nobody-knows"),
        pytest.param(SITE, UNKNOWN, True, id="by-what-is-known-here"),
    ],
)
def test_a_site_is_known_where_whoever_cut_the_other_page_knew_it(
    site: SiteSeen, told_by: SiteSeen, *, proven: bool
) -> None:
    other = shown(1, 7, body=b"8 bytes.")
    other.note_cut({1}, told_by)
    other = PageEvidence.unpack(other.pack())

    assert proves(shown(1, 7, body=b"own"), other, NO_FIELDS, 20, best_seen(site, other)) is proven
    assert best_seen(UNKNOWN, other).common == ({1} if told_by is SITE else frozenset())


@table("core/pages_with_the_same_words_may_show_something_else")
def test_pages_with_the_same_words_may_show_something_else(one: str, other: str, *, same: bool) -> None:
    shown = []
    for html in (one, other):
        page = parse_page(html)
        assert isinstance(page, Page)
        blocks = [(block.fingerprint, block.text) for block in page.blocks]
        shown.append(PageEvidence.of(html, blocks, "https://x.example/a", with_numbers=False).files)

    assert (shown[0] == shown[1]) is same


def test_of_a_text_the_parts_between_blank_lines_count_that_its_site_does_not_repeat() -> None:
    menu, _ = parts = blocks_of_text("Home, shop\n\nTwo kinds of tea")

    assert [text for _, text in parts] == ["Home, shop", "Two kinds of tea"]
    assert own_words(parts, SiteSeen(frozenset([menu[0]]), 5)) == 4


def test_only_so_many_items_of_a_page_are_held() -> None:
    evidence = PageEvidence(b"", array("Q"))
    for number in range(MOST_ITEMS + 5):
        evidence.add(number.to_bytes(8, "big"))
    evidence.add(None)
    evidence.add(bytes(8))

    assert evidence.fields == [number.to_bytes(8, "big") for number in range(MOST_ITEMS)]


SCOPE = b"project www.example.com en"
TEXT = " ".join(f"word{number}" for number in range(200))
# Small, so that texts often share words.
FEW_WORDS = st.lists(st.sampled_from("a b c d e f 1 2 日 本 é".split()), max_size=30).map(" ".join)


def a_sketch(text: str = TEXT, scope: bytes = SCOPE) -> Sketch:
    found = sketch_of(shingles(text), scope)
    assert found is not None
    return found


def edited(text: str, changes: int) -> str:
    """Change so many words, each in another shingle."""
    parts = text.split()
    for number in range(changes):
        parts[number * len(parts) // max(1, changes)] = f"changed{number}"
    return " ".join(parts)


class TestShingles:
    def test_a_text_beyond_the_limit_has_none(self) -> None:
        text = f"a {' ' * (MAX_CHARS - 2)}"

        assert shingles(text) == {"a"}
        assert shingles(text + " ") == set()
        assert sketch_of(shingles(text + " "), SCOPE) is None


class TestSketch:
    def test_it_is_the_same_on_every_machine(self) -> None:
        """Stored sketches are compared for years: whoever changes them changes VERSION."""
        found = a_sketch("the quick brown fox jumps over the lazy dog")

        assert duplicates.VERSION == "1-2"
        assert (found.shingles, len(found.signature), len(found.bands)) == (5, 128, BANDS)
        assert found.signature[:8].hex() == "12d2538431b1dd9c"
        assert found.bands[:2] == (-2374823282724405301, -2374823901066011334)

    @pytest.mark.parametrize("text", [TEXT, "short"], ids=["long", "short"])
    def test_pages_of_other_scopes_never_meet(self, text: str) -> None:
        assert not set(a_sketch(text).bands) & set(a_sketch(text, b"project www.example.com nl").bands)

    def test_texts_that_are_alike_share_bands(self) -> None:
        for number in range(150):
            text = " ".join(f"{number}w{at}" for at in range(100 + number))
            other = edited(text, (100 + number) // 70)
            assert 0.85 <= resemblance(shingles(text), shingles(other)) < 1

            assert set(a_sketch(text).bands) & set(a_sketch(other).bands)


@dataclass(frozen=True)
class Stored:
    name: str
    shingles: int
    signature: bytes


class TestPromising:
    def stored(self, name: str, text: str) -> Stored:
        found = a_sketch(text)
        return Stored(name, found.shingles, found.signature)

    def names(self, threshold: float = 0.8, limit: int = 9) -> list[str]:
        others = [
            self.stored("unlike", TEXT.replace("word", "other")),
            self.stored("half", " ".join(TEXT.split()[:100])),
            self.stored("alike", edited(TEXT, 3)),
            self.stored("same", TEXT),
            self.stored("same too", TEXT),
        ]
        return [other.name for other in promising(a_sketch(), others, threshold, limit)]

    def test_most_alike_come_first_and_equals_in_their_order_up_to_the_limit(self) -> None:
        assert self.names() == ["same", "same too", "alike"]
        assert self.names(limit=2) == ["same", "same too"]

    def test_texts_just_alike_enough_are_not_left_out(self) -> None:
        """One in 100,000 may be."""
        for number in range(150):
            text = " ".join(f"{number}w{at}" for at in range(60 + number))
            other = edited(text, 1 + number % 9)
            alike = resemblance(shingles(text), shingles(other))

            assert promising(a_sketch(text), [self.stored("it", other)], alike, 1)

    @pytest.mark.parametrize("threshold", [0.0, 1.0])
    def test_the_same_text_is_always_promising(self, threshold: float) -> None:
        assert promising(a_sketch(), [self.stored("same", TEXT)], threshold, 1)


@settings(max_examples=40, deadline=None)
@given(FEW_WORDS, FEW_WORDS)
def test_likeness_is_mutual_and_a_share(one: str, other: str) -> None:
    ours, theirs = shingles(one), shingles(other)
    alike = resemblance(ours, theirs)

    assert 0.0 <= alike <= 1.0
    assert resemblance(ours, ours) == bool(ours)
    assert alike == resemblance(theirs, ours)


@settings(max_examples=40, deadline=None)
@given(st.text(st.characters() | st.sampled_from("aB1_ -\u2019\u2013\xd7Éßжİ\x1c\u0301")))
def test_words_are_found_alike_beside_letters_that_are_written_without_spaces(text: str) -> None:
    assert words(f"{text} 漢") == [*words(text), "漢"]


@given(st.text())
def test_any_text_has_a_sketch_or_no_words(text: str) -> None:
    found = sketch_of(shingles(text), SCOPE)

    assert (found is None) is not bool(words(text))
    assert found is None or (found == sketch_of(shingles(text), SCOPE))


@pytest.mark.parametrize("is_written", ['title="{}"', "TITLE = '{}'", 'aria-label\n    = "{}"', 'title \t = "{}"'])
def test_labels_of_what_has_no_text_are_told_apart(is_written: str) -> None:
    three, four = (f"<p>Rated <i class=s {is_written.format(stars)}></i>" for stars in (3, 4))

    assert files_hash(three, [], "https://a.example/") != files_hash(four, [], "https://a.example/")
