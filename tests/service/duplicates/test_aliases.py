"""What the pages of a run declare about each other; whole crawls are in tests/end_to_end/test_aliases.py."""

from scrapy_dedup.service.duplicates.aliases import MOST_AWAITED, MOST_STANDING, Aliases


def key(number: int) -> bytes:
    return number.to_bytes(16, "big")


def test_pages_that_never_come_are_awaited_up_to_a_bound() -> None:
    aliases = Aliases()
    for number in range(MOST_AWAITED + 10):
        aliases.stand(key(number), b"alias")

    assert len(aliases.standing) == MOST_AWAITED
    assert key(9) not in aliases.standing
    assert aliases.standing[key(10)] == [b"alias"]


def test_of_a_page_that_many_declare_canonical_the_first_are_kept() -> None:
    aliases = Aliases()
    for number in range(MOST_STANDING + 5):
        aliases.stand(key(0), key(number))

    assert aliases.standing[key(0)] == [key(number) for number in range(MOST_STANDING)]
