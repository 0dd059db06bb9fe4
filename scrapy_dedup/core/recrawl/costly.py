"""What is kept of costly functions: by which name a function is known, under which key, and which results."""

import json
import math
from collections.abc import Callable
from types import MethodType
from typing import Any, Final

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.pages.fingerprints import parts_hash

# A result that holds itself ends here, too.
_MOST_LEVELS: Final = 100
# json refuses to read integers of more than 4,300 digits.
_MOST_INT_BITS: Final = 14_000
_VERSION: Final = 1
_KEY_BYTES: Final = 32
_WAY_OUT: Final = "Give a function that is defined with def at the top of a module that is imported."


class MemoError(DedupError):
    """A function, a text or a version cannot be told from others, or a result is no JSON."""


def function_name(function: Callable[..., Any]) -> str:
    """Return module and qualified name; of a method, those of its object's class.

    Raises:
        MemoError: another function may have the same name, in this process or in the next.
    """
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if not isinstance(name, str) or isinstance(function, type):
        raise MemoError(f"memo: {function!r:.200} has no name of its own. {_WAY_OUT}")
    if isinstance(function, MethodType):
        owner = function.__self__ if isinstance(function.__self__, type) else type(function.__self__)
        # A class that inherits the method may make something else of the text.
        module, name = owner.__module__, f"{owner.__qualname__}.{function.__name__}"
    if "<lambda>" in name or "<locals>" in name:
        raise MemoError(f"memo: {name} stands inside of another function, where names repeat. {_WAY_OUT}")
    if not module or module == "__main__":
        raise MemoError(f"memo: {name} is in {module}, which is another module each time. {_WAY_OUT}")
    return f"{module}.{name}"


def memo_key(function: str, version: str | int, text: str) -> bytes:
    """Return 32 bytes that stand for what a function makes of a text.

    Raises:
        MemoError: the text is no str, or the version neither str nor int.
    """
    if not isinstance(text, str):
        raise MemoError(f"memo of {function}: the text is a {_kind(text)}. Give a str, such as response.text.")
    if type(version) not in (str, int):
        raise MemoError(f"memo of {function}: version={version!r:.60} is a {_kind(version)}. Give a str or an int.")
    parts = (part.encode("utf-8", "surrogatepass") for part in (function, str(version), text))
    return parts_hash(bytes([_VERSION]), *parts, size=_KEY_BYTES)


def as_json(result: object, function: str) -> str:
    """Return the JSON of a result, from which `json.loads` makes an equal value.

    Raises:
        MemoError: there is none; it names the first place that stands in the way.
    """
    fault = _fault(result, _MOST_LEVELS)
    if fault is not None:
        place, wrong = fault
        raise MemoError(
            f"memo of {function}: result{place[:200]} is {wrong}. Return what JSON can hold: dicts with keys of type"
            " str, lists, str, int, float, bool and None."
        )
    return json.dumps(result, ensure_ascii=False, separators=(",", ":"))


def _fault(value: Any, levels: int) -> tuple[str, str] | None:
    """Return the first place, such as `["tags"][0]`, that is no JSON, and what is there."""
    # Taken literally: of a subclass (an enum, a named tuple) another type would come back.
    kind = type(value)
    if kind is dict or kind is list:
        return _fault_inside(value, kind, levels - 1)
    if kind is float:
        return None if math.isfinite(value) else ("", f"{value}, for which JSON has no word")
    if kind is int:
        return None if value.bit_length() <= _MOST_INT_BITS else ("", "a number of more than 4,000 digits")
    return None if value is None or kind in (str, bool) else ("", f"a {_kind(value)}")


def _fault_inside(value: Any, kind: type, levels: int) -> tuple[str, str] | None:
    if levels < 0:
        return "", f"nested more than {_MOST_LEVELS} levels deep"
    for key, one in value.items() if kind is dict else enumerate(value):
        if kind is dict and type(key) is not str:
            return "", f"a dict with the key {key!r:.60}, a {_kind(key)}"
        fault = _fault(one, levels)
        if fault is not None:
            return f"[{key!r:.60}]{fault[0]}", fault[1]
    return None


def _kind(value: object) -> str:
    return type(value).__qualname__
