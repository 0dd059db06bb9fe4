import json
from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.templates.layouts import (
    VERSION,
    LayoutIndex,
    Skeleton,
    StoredLayoutsError,
    cluster,
    likeness,
    skeleton_of,
)
from tests.core.builders import parsed
from tests.tables import table


def skeleton(html: str) -> Skeleton:
    page = parsed(html)
    return skeleton_of(page)


def a_skeleton(paths: str = "", classes: str = "", l1: int | None = None) -> Skeleton:
    digest = blake2b(f"{paths}|{classes}".encode(), digest_size=7).digest()
    number = int.from_bytes(digest, "big") if l1 is None else l1
    return Skeleton(frozenset(paths.split()), frozenset(classes.split()), number, 0)


def test_skeleton_holds_containers_down_to_prose():
    found = skeleton(
        "<body class='single css-1x2y3z post-12'><div id=a class='b a'><nav role=x class=menu><ul><li>x</ul></nav>"
        "<div class=text><p>prose</p><div class=figure-of-the-author></div></div></div>"
    )

    assert found.paths == {"body/div.a.b", "body/div/nav.menu", "body/div/div.text"}
    assert found.classes == {"single"}


@table("pages/one_layout")
def test_what_changes_from_page_to_page_changes_no_signature(one, other):
    assert skeleton(one) == skeleton(other)


def test_skeletons_are_bounded():
    html = "".join(f"<div class={'abcdefghij'[i % 10]}{'x' * (i // 10)}></div>" for i in range(590))
    html += "".join(f"<nav class={'abcdefghij'[i % 10]}{'x' * (i // 10)}></nav>" for i in range(590))

    assert len(skeleton(html).paths) == 1_000
    assert len(skeleton("<body class='" + " ".join("x" * i for i in range(1, 50)) + "'>").classes) == 20


sets = st.frozensets(st.sampled_from("abcdefgh"))


class TestCluster:
    def test_a_small_layout_joins_the_larger_one_that_is_its_kin(self):
        large, small, stranger = a_skeleton("a b c d e f"), a_skeleton("a b c p q"), a_skeleton("u v w x y z")

        assert likeness(large, small, set()) == pytest.approx(6 / 11)
        assert set(cluster([large] * 5 + [small] * 4)) == {large.l1}
        assert set(cluster([large] * 5 + [small] * 5)) == {large.l1, small.l1}
        assert set(cluster([large] * 4 + [small] * 4)) == {large.l1, small.l1}
        assert set(cluster([large] * 5 + [stranger])) == {large.l1, stranger.l1}

    def test_pages_that_are_like_none_are_layouts_of_their_own_also_where_there_are_many(self):
        found = [a_skeleton(" ".join(f"{letter}{i}" for letter in "abcdefgh"), l1=i) for i in range(600)]

        assert cluster(found) == [one.l1 for one in found]

    @given(
        st.lists(st.tuples(sets, st.frozensets(st.sampled_from("xyz")), st.integers(0, 3)), max_size=12),
        st.randoms(use_true_random=False),
    )
    def test_order_of_pages_does_not_matter(self, made, random):
        found = [a_skeleton(" ".join(sorted(paths)), " ".join(sorted(classes))) for paths, classes, _ in made]
        order = list(range(len(found)))
        random.shuffle(order)
        before, after = cluster(found), cluster([found[index] for index in order])

        assert [before[index] for index in order] == after


class TestLayoutIndex:
    def test_first_page_founds_a_layout_and_those_like_it_join(self):
        index = LayoutIndex()
        first, like, other = a_skeleton("a b c d e"), a_skeleton("a b c d"), a_skeleton("p q r s t u v")

        assert index.find(first) is None
        assert index.add(first).signature == first.l1
        assert index.add(like).signature == first.l1
        assert index.add(other, times=5).signature == other.l1
        assert [(layout.signature, layout.pages) for layout in index.layouts] == [(other.l1, 5), (first.l1, 2)]

    def test_a_full_index_forgets_the_rarest_that_was_not_met_for_longest(self):
        index = LayoutIndex(most=3)
        often, old, young, new = (a_skeleton(" ".join(f"{name}{i}" for i in range(9)), l1=ord(name)) for name in "abcd")
        for page in (often, often, young, old, young, young):
            index.add(page)
        index.add(new)

        assert {layout.signature for layout in index.layouts} == {often.l1, young.l1, new.l1}

    def test_what_was_stored_answers_as_before(self):
        index = LayoutIndex()
        for paths, classes in (("a b c", "x y"), ("a b c", "x"), ("p q r s t u", "x z")):
            index.add(a_skeleton(paths, classes))

        again = LayoutIndex.from_json(json.loads(json.dumps(index.to_json())))

        assert again.to_json() == index.to_json()
        assert again.layouts == index.layouts
        assert again.find(a_skeleton("a b c d", "x y")) == index.find(a_skeleton("a b c d", "x y"))

    @pytest.mark.parametrize(
        "stored",
        [
            pytest.param({}, id="empty"),
            pytest.param({"version": VERSION + 1, "layouts": [], "classes": {}}, id="newer"),
            pytest.param({"version": VERSION, "layouts": [{"paths": ["a"]}], "classes": {}}, id="part-is-missing"),
            pytest.param({"version": VERSION, "layouts": 5, "classes": {}}, id="no-list"),
            pytest.param({"version": VERSION, "layouts": [], "classes": {"a": "b"}}, id="no-count"),
        ],
    )
    def test_what_cannot_be_read_is_refused(self, stored):
        with pytest.raises(StoredLayoutsError, match="learn them again") as caught:
            LayoutIndex.from_json(stored)

        assert isinstance(caught.value, DedupError)

    def test_its_memory_is_bounded(self):
        index = LayoutIndex(most=2)
        index.add(a_skeleton("a b", "kind"), times=9)
        for number in range(3_000):
            index.add(a_skeleton("a b", f"kind slug{number}", l1=number))
        for number in range(3_000):
            index.find(a_skeleton("a b", f"kind other{number}", l1=-number))

        assert len(index.layouts) <= 2
        assert len(index.to_json()["classes"]) <= 2_000
        assert index.to_json()["classes"]["kind"] == 3_009
