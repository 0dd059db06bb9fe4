import json

import pytest

from scrapy_dedup.service.templates.site_knowledge import RecentKnowledge, SiteKnowledge

ONE = json.dumps(SiteKnowledge("a.example", 7).to_json())
"""What is known of one domain, as text."""


class Place:
    """Counts how often it is read."""

    def __init__(self, text: str | None = ONE) -> None:
        self.reads = 0
        self._text = text

    def __call__(self) -> str | None:
        self.reads += 1
        return self._text


# Of places with so much room, these are asked for in this order; so often each is read.
CASES = [
    ("all that fits is held", 2, "abab", {"a": 1, "b": 1}),
    ("who was asked for longest ago goes first", 2, "abcbca", {"a": 2, "b": 1, "c": 1}),
    ("asking counts, not reading", 2, "abacab", {"a": 1, "b": 2, "c": 1}),
    ("the last one is held, however large", 0, "aabba", {"a": 2, "b": 1}),
]


@pytest.mark.parametrize(("room", "asked", "reads"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_so_much_is_held(room, asked, reads):
    recent = RecentKnowledge(room * (len(ONE) + 1))
    places = {name: Place() for name in reads}

    for name in asked:
        recent.get(name, places[name])

    assert {name: place.reads for name, place in places.items()} == reads
