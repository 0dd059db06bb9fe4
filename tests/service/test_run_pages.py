from hashlib import blake2b

from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.verdicts import Kind
from scrapy_dedup.service.run_pages import Names, Owners, PagesMet

pages = st.integers(0, 5).map(lambda number: blake2b(bytes([number]), digest_size=16).digest())
Step = tuple[bytes, tuple[int, str], bool]
owners = st.tuples(st.integers(-1, 10**9), st.sampled_from(["", "parse", "parse_item", "λ"]))


@given(st.lists(st.tuples(pages, owners, st.booleans()), max_size=60))
def test_the_first_owner_of_a_page_stays_until_it_is_discarded(steps: list[Step]) -> None:
    compact, plain = Owners(), dict[bytes, tuple[int, str]]()
    for key, owner, fails in steps:
        assert compact.setdefault(key, owner) == plain.setdefault(key, owner)
        if fails:
            compact.discard(key)
            del plain[key]

    assert len(compact) == len(plain)
    assert all((key in compact) is (key in plain) for key, _, _ in steps)


@given(st.lists(st.tuples(pages, st.sampled_from(Kind)), max_size=60))
def test_a_page_is_what_it_was_last(steps: list[tuple[bytes, Kind]]) -> None:
    compact, plain = PagesMet(), dict[bytes, Kind]()
    for key, kind in steps:
        compact[key] = plain[key] = kind

    assert len(compact) == len(plain)
    assert {key: compact.get(key) for key in plain} == plain
    assert all(compact.had(kind) is any(one is kind for _, one in steps) for kind in Kind)
    assert compact.get(bytes(16)) is None
    assert bytes(16) not in compact


def test_a_name_is_the_parts_that_it_is_made_of() -> None:
    names = Names()
    names.add(b"ab", b"c")

    assert names.has(b"ab", b"c")
    assert not names.has(b"a", b"bc")
    assert not names.has(b"abc")
    assert len(names) == 1
