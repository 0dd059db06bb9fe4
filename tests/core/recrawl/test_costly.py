import functools
import json
import math
from collections.abc import Callable
from enum import StrEnum
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.recrawl.costly import MemoError, as_json, function_name, memo_key

HERE = __name__
HOLDS_ITSELF: list[Any] = []
HOLDS_ITSELF += [HOLDS_ITSELF, HOLDS_ITSELF]


class Model:
    def ask(self, text: str) -> str:
        return text

    @classmethod
    def of_class(cls, text: str) -> str:
        return text

    @staticmethod
    def alone(text: str) -> str:
        return text

    def __call__(self, text: str) -> str:
        return text


class Better(Model):
    pass


class Colour(StrEnum):
    RED = "red"


def typed_into_a_shell(text: str) -> str:
    return text


typed_into_a_shell.__module__ = "__main__"


def ask(text: str) -> str:
    return text


def inner() -> Callable[[str], str]:
    def ask(text: str) -> str:
        return text

    return ask


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (ask, "ask"),
        (functools.lru_cache(ask), "ask"),
        (Model().ask, "Model.ask"),
        (Better().ask, "Better.ask"),
        (Better.of_class, "Better.of_class"),
        (Model.alone, "Model.alone"),
    ],
)
def test_a_function_is_known_by_module_and_qualified_name(function, name):
    assert function_name(function) == f"{HERE}.{name}"


@pytest.mark.parametrize(
    "function",
    [lambda text: text, inner(), functools.partial(ask), Model(), Model, typed_into_a_shell],
    ids=["lambda", "inner", "partial", "callable", "class", "shell"],
)
def test_what_may_share_its_name_with_another_is_refused_with_the_way_out(function):
    with pytest.raises(MemoError, match="at the top of a module that is imported"):
        function_name(function)


def test_the_key_tells_function_version_and_text_apart():
    parts = [("f", "1", "ab"), ("f", "2", "ab"), ("f", "1", "a"), ("f1", "", "ab"), ("f", "1a", "b")]

    keys = {memo_key(*some) for some in parts}

    assert [len(key) for key in keys] == [32] * len(parts)
    assert memo_key("f", 1, "ab") == memo_key("f", "1", "ab")
    assert memo_key("f", 1, "ü\ud800") != memo_key("f", 1, "ü\ud801")
    with pytest.raises(MemoError, match=r"memo of f: the text is a bytes. Give a str, such as response.text."):
        memo_key("f", 1, b"text")  # type: ignore[arg-type]
    with pytest.raises(MemoError, match="version=None is a NoneType"):
        memo_key("f", None, "text")


@pytest.mark.parametrize(
    ("result", "told"),
    [
        ((1, 2), "result is a tuple."),
        ({"a": [{"b": {1, 2}}]}, "result['a'][0]['b'] is a set."),
        ([1, math.nan], "result[1] is nan, for which"),
        ({"a": {2: "b"}}, "result['a'] is a dict with the key 2, a int."),
        ({"a": Colour.RED}, "result['a'] is a Colour."),
        ([HTTPStatus.OK], "result[0] is a HTTPStatus."),
        ([b"bytes"], "result[0] is a bytes."),
        ([10**5000], "result[0] is a number of more than"),
        (HOLDS_ITSELF, "nested more than 100 levels deep"),
        (SimpleNamespace(), "result is a SimpleNamespace."),
    ],
)
def test_a_result_that_is_no_json_is_refused_with_its_place(result, told):
    with pytest.raises(MemoError) as error:
        as_json(result, "models.ask")

    assert told in str(error.value)
    assert str(error.value).startswith("memo of models.ask: result")
    assert len(str(error.value)) < 500


PLAIN = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters())
)


@given(st.recursive(PLAIN, lambda inside: st.lists(inside) | st.dictionaries(st.text(st.characters()), inside)))
def test_what_is_json_comes_back_equal_and_of_the_same_types(result):
    assert repr(json.loads(as_json(result, "models.ask"))) == repr(result)
