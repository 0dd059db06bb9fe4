from hashlib import blake2b

from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.recrawl.verdicts import VerdictKind
from scrapy_dedup.service.recrawl.run_pages import Given, Names, PagesMet

pages = st.integers(0, 5).map(lambda number: blake2b(bytes([number]), digest_size=16).digest())


@given(st.lists(st.tuples(pages, st.booleans(), st.booleans()), max_size=60))
def test_a_page_is_of_an_earlier_part_of_the_run_as_it_was_added_first(steps: list[tuple[bytes, bool, bool]]) -> None:
    compact, plain = Given(), dict[bytes, bool]()
    for key, earlier, fails in steps:
        assert compact.add(key, earlier=earlier) == plain.setdefault(key, earlier)
        if fails:
            compact.discard(key)
            del plain[key]

    assert len(compact) == len(plain)
    assert all((key in compact) is (key in plain) for key, _, _ in steps)


@given(st.lists(st.tuples(pages, st.sampled_from(VerdictKind)), max_size=60))
def test_a_page_is_what_it_was_last(steps: list[tuple[bytes, VerdictKind]]) -> None:
    compact, plain = PagesMet(), dict[bytes, VerdictKind]()
    for key, kind in steps:
        compact[key] = plain[key] = kind

    assert len(compact) == len(plain)
    assert {key: compact.get(key) for key in plain} == plain
    assert all(compact.had(kind) is any(one is kind for _, one in steps) for kind in VerdictKind)
    assert compact.get(bytes(16)) is None
    assert bytes(16) not in compact


def test_a_name_is_the_parts_that_it_is_made_of() -> None:
    names = Names()
    names.add(b"ab", b"c")

    assert names.has(b"ab", b"c")
    assert not names.has(b"a", b"bc")
    assert not names.has(b"abc")
    assert len(names) == 1
