import json
from collections import OrderedDict, namedtuple
from contextlib import suppress
from datetime import UTC, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from enum import IntEnum
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.recrawl.values import DamagedValueError, KeepLimits, Unkeepable, UnkeepableReason, decode, encode
from tests.tables import table

BERLIN = ZoneInfo("Europe/Berlin")
ODD = timezone(timedelta(hours=5, minutes=45, seconds=1, microseconds=7))

zones = st.sampled_from([None, UTC, ODD, BERLIN])
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None))
    | st.binary()
    | st.datetimes(timezones=zones)
    | st.dates()
    | st.times(timezones=zones)
    | st.timedeltas()
    | st.decimals(allow_nan=False)
    | st.uuids()
)
hashable = st.recursive(scalars, lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3), max_leaves=5)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.sets(hashable, max_size=4)
        | st.dictionaries(st.text(max_size=3) | st.just("$"), inner, max_size=4)
        | st.dictionaries(hashable, inner, max_size=3)
    ),
    max_leaves=20,
)


def there_and_back(value: object) -> Any:
    kept = encode(value)
    assert not isinstance(kept, Unkeepable), kept
    return decode(json.loads(json.dumps(kept, allow_nan=False)))


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal and of one type, at all levels; a NaN is the same as a NaN."""
    if type(one) is type(other) and isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if type(one) is type(other) and isinstance(one, dict):
        return same(list(one.items()), list(other.items()))
    if isinstance(one, set | frozenset):  # of which NaNs may be members
        return type(one) is type(other) and sorted(map(written, one)) == sorted(map(written, other))
    return written(one) == written(other)


def written(value: Any) -> str:
    if isinstance(value, frozenset):
        return f"frozenset {sorted(map(written, value))}"
    if isinstance(value, tuple):
        return f"tuple {list(map(written, value))}"
    return f"{type(value)} {hex(value) if isinstance(value, int) else repr(value)}"


@given(values)
def test_value_comes_back_as_it_was(value):
    assert same(there_and_back(value), value)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(-(10**5_000), id="beyond-json"),
        pytest.param({"$": "tuple", "v": [1]}, id="looks-like-a-tag"),
        pytest.param({1: "a", (2, 3): "b", None: "c", b"d": "d"}, id="keys-that-are-no-text"),
        pytest.param({"\ud800": 1}, id="key-with-a-surrogate"),
        pytest.param({frozenset({1, "a"}), (1, (2,)), ""}, id="set-of-many"),
        pytest.param(datetime(2025, 10, 26, 2, 30, tzinfo=BERLIN, fold=1), id="the-second-half-past-two"),
        pytest.param(datetime(1, 1, 1, tzinfo=ODD), id="odd-offset"),
        pytest.param(time(2, 30, tzinfo=BERLIN), id="time-in-a-zone"),
        pytest.param([Decimal("1.10"), Decimal("-Infinity"), Decimal("1E+999")], id="decimals"),
    ],
)
def test_hard_value_comes_back(value):
    assert same(there_and_back(value), value)


class Size(IntEnum):
    LARGE = 1


class Strange(tzinfo):
    def utcoffset(self, _: datetime | None) -> timedelta | None:
        return None

    def tzname(self, _: datetime | None) -> str:
        return "strange"

    def dst(self, _: datetime | None) -> None:
        return None


Pair = namedtuple("Pair", "one other")  # noqa: PYI024


@pytest.mark.parametrize(
    ("value", "detail"),
    [
        (object(), "object"),
        (Size.LARGE, "Size"),
        (Pair(1, 2), "Pair"),
        (OrderedDict(a=1), "OrderedDict"),
        (print, "builtin_function_or_method"),
        (bytearray(b"a"), "bytearray"),
        (datetime(2025, 1, 1, tzinfo=Strange()), "Strange"),
        ([{"a": (1, {2j})}], "complex"),
    ],
)
def test_type_that_would_come_back_as_another_is_not_kept(value, detail):
    assert encode(value) == Unkeepable(UnkeepableReason.TYPE, detail)


def endless() -> list[object]:
    value: list[object] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        pytest.param(endless(), UnkeepableReason.TOO_DEEP, id="holds-itself"),
        pytest.param([[[[1]]]], UnkeepableReason.TOO_DEEP, id="deep"),
        pytest.param(list(range(10)), UnkeepableReason.TOO_LARGE, id="many"),
        pytest.param(["x" * 60, b"y" * 60], UnkeepableReason.TOO_LARGE, id="long"),
        pytest.param(1 << 200_000, UnkeepableReason.TOO_LARGE, id="number"),
    ],
)
def test_what_is_kept_is_bounded(value, reason):
    kept = encode(value, KeepLimits(depth=3, values=10, characters=100))

    assert isinstance(kept, Unkeepable)
    assert kept.reason is reason


@pytest.mark.parametrize("wrap", [list, tuple, set, lambda one: {1: one[0]}], ids=["list", "tuple", "set", "dict"])
def test_deepest_value_that_is_kept_comes_back(wrap):
    value: Any = 1
    for _ in range(49):
        value = (value,)
    value = wrap([value])

    assert there_and_back(value) == value


@table("values/damaged")
def test_damaged_value_is_named(kept):
    with pytest.raises(DamagedValueError, match="damaged; the page has to be extracted again"):
        decode(kept)


def test_bottomless_value_is_refused():
    kept: Any = 1
    for _ in range(900):
        kept = {"$": "tuple", "v": kept}

    with pytest.raises(DamagedValueError):
        decode(kept)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
        | st.builds(
            lambda name, value: {"$": name, "v": value},
            st.sampled_from("str int float bytes datetime time date timedelta decimal uuid tuple set dict".split()),
            inner,
        )
    ),
    max_leaves=10,
)


@given(json_values)
def test_any_json_is_read_or_refused(kept):
    with suppress(DamagedValueError):
        decode(kept)
