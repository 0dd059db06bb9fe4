from dataclasses import make_dataclass
from typing import Any

from scrapy_dedup.plugin.items import detached, item_hash


class Offer:
    """Says less of itself where it is pickled than it holds, as a client or a cache does."""

    def __init__(self, price: int) -> None:
        self.price = price

    def __getstate__(self) -> dict[str, Any]:
        return {}


class Lists(dict[str, Any]):
    """Keeps lists, and shows the first of each."""

    def items(self) -> Any:
        return [(name, values[0]) for name, values in super().items()]


class Made:
    """A field that is a new list at each read."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __get__(self, item: Any, owner: type) -> Any:
        return self if item is None else [self._number]

    def __set__(self, item: Any, value: Any) -> None:
        if not isinstance(value, Made):
            item.__dict__.setdefault("copied", []).append((self._number, value))


Fields = make_dataclass("Fields", [(f"field{number}", Any, Made(number)) for number in range(9)])


def test_an_object_that_may_hold_more_than_it_says_equals_no_other():
    assert item_hash({"offer": Offer(1)}, ()) is None


def test_a_dict_is_copied_as_it_is_kept():
    item = Lists(name=["Green tea"])

    copied = detached(item)

    assert dict.__getitem__(copied, "name") == ["Green tea"]
    assert dict.__getitem__(copied, "name") is not dict.__getitem__(item, "name")


def test_fields_that_are_made_at_each_read_are_not_taken_for_each_other():
    copied = detached(Fields()).__dict__["copied"]

    assert sorted(copied) == [(number, [number]) for number in range(9)]
