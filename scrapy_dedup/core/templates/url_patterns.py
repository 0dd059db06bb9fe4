r"""Expressions for the URLs of a layout: what its URLs have in common and no other layout's has.

The language is small, so that a person can read and correct every expression: whole steps of a path (a word, two or
three words, `\d+`, `[A-Z][^/]*`, `[^/]+`, each with what all begin or end with), one `.+` for steps of any number, a
query's parameter, and up to three such forms as alternatives. RE2 runs them in linear time, as it does those that a
person wrote.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import product, takewhile
from typing import Any, Final, NamedTuple

from scrapy_dedup.core.patterns import PatternError, compile_expression
from scrapy_dedup.core.urls.normal_form import split_url

_MOST_FORMS: Final = 3
_MOST_WORDS: Final = 3
# Real paths have up to a dozen steps; deeper ones are told by what they begin and end with.
_MOST_STEPS: Final = 12
_MOST_CHOICES: Final = 500
_SPECIAL: Final = re.compile(r"[\\.^$*+?{}\[\]|()]")
_EXTENSION: Final = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,5}$")
# A prefix or suffix that ends within a word is chance.
_WHOLE_PREFIX: Final = re.compile(r".*[-_.~=+,:]", re.DOTALL)
_WHOLE_SUFFIX: Final = re.compile(r"[-_.~=+,:].*", re.DOTALL)


class _Target(NamedTuple):
    """One URL as the expressions see it."""

    text: str
    steps: tuple[str, ...]
    query: str


def url_target(url: str) -> str | None:
    """Return the part of a URL that a pattern is searched in: path and query; None for what is no http(s) URL."""
    parts = split_url(url)
    if parts is None:
        return None
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


def matches_pattern(pattern: str, url: str) -> bool:
    """Tell whether a URL is one of those that an expression stands for; none is where it cannot be used."""
    target, program = url_target(url), _program(pattern)
    return target is not None and program is not None and _is_found(program, target)


@lru_cache(maxsize=4_096)
def _program(pattern: str) -> Any:
    try:
        return compile_expression(pattern).program
    except PatternError:
        return None


def _is_found(program: Any, target: str) -> bool:
    return program.search(target.encode("utf-8", "replace")) is not None


def url_pattern(own: Sequence[str], others: Sequence[str]) -> str | None:
    """Return an expression that matches all *own* URLs and none of the *others*; None where the language has none.

    One form is preferred to several, steps of a known number to any number, short to long. The order of URLs does not
    matter, and what is no http(s) URL is passed over. Search for it in `url_target(url)`; it is anchored where it must
    be.
    """
    ours, theirs = _targets(own), [target.text for target in _targets(others)]
    if not ours or {target.text for target in ours} & set(theirs):
        return None
    form = _form(ours, theirs)
    if form is not None:
        return f"^{form}$"
    for group_of in (_by_length, _by_first_step, _by_both):
        forms = _forms(ours, theirs, group_of)
        if forms:
            return f"^(?:{'|'.join(forms)})$"
    return None


def _targets(urls: Iterable[str]) -> list[_Target]:
    texts = sorted({target for url in urls if (target := url_target(url)) is not None})
    return [_target(text) for text in texts]


def _target(text: str) -> _Target:
    path, _, query = text.partition("?")
    return _Target(text, tuple(path.strip("/").split("/")) if path.strip("/") else (), query)


def _by_length(target: _Target) -> str:
    return f"{len(target.steps):06}"


def _by_first_step(target: _Target) -> str:
    return target.steps[0] if target.steps else ""


def _by_both(target: _Target) -> str:
    return f"{_by_first_step(target)}/{_by_length(target)}"


def _forms(ours: list[_Target], theirs: list[str], group_of: Callable[[_Target], str]) -> list[str]:
    """Return a form for each group of URLs; none where there are too many groups, or one has no form."""
    groups: dict[str, list[_Target]] = {}
    for target in ours:
        groups.setdefault(group_of(target), []).append(target)
    # As many forms as URLs would be their list.
    if not 1 < len(groups) <= min(_MOST_FORMS, len(ours) - 1):
        return []
    forms = [_form(groups[name], theirs) for name in sorted(groups)]
    return [form for form in forms if form] if all(forms) else []


def _form(ours: list[_Target], theirs: list[str]) -> str | None:
    """Return the first form that matches none of the other URLs, without anchors."""
    for form in (*_of_one_length(ours), *_of_any_length(ours)):
        program = _program(f"^{form}$")
        if program is None or any(_is_found(program, text) for text in theirs):
            continue
        if all(_is_found(program, one.text) for one in ours):
            return form
    return None


def _of_one_length(ours: list[_Target]) -> list[str]:
    """Return forms with an expression for each step, the shortest first."""
    count = len(ours[0].steps)
    if count > _MOST_STEPS or any(len(target.steps) != count for target in ours):
        return []
    columns = [_choices([target.steps[at] for target in ours]) for at in range(count)]
    combined = [chosen for chosen, _ in zip(product(*columns), range(_MOST_CHOICES), strict=False)]
    # Of two as long as each other the one that tells more: it is the later one.
    combined.reverse()
    combined.sort(key=lambda chosen: len("/".join(chosen)))
    end = _end(ours)
    return [f"/{'/'.join(chosen)}{end}" if chosen else f"/{_query(ours)}" for chosen in combined]


def _of_any_length(ours: list[_Target]) -> list[str]:
    """Return forms that say what all paths begin and end with, those that say most first."""
    rows = [target.steps for target in ours]
    head = _shared_steps(rows)
    begin = "".join(f"/{_literal(step)}" for step in head)
    end = _end(ours)
    forms = []
    if all(len(row) > len(head) for row in rows):
        tail = _shared_steps([row[: len(head) - 1 if head else None : -1] for row in rows])
        finish = "".join(f"/{_literal(step)}" for step in reversed(tail))
        finishes = [finish] if finish else [f"/{choice}" for choice in _choices([row[-1] for row in rows])]
        between = [len(row) - len(head) - max(1, len(tail)) for row in rows]
        some = "/.+" if all(between) else "(?:/.+)?"
        forms = [f"{begin}{some}{finish}{end}" for finish in finishes]
    return [*forms, f"{begin}(?:/.*)?{_query(ours)}" if begin else "/.*"]


def _shared_steps(rows: list[tuple[str, ...]]) -> list[str]:
    columns = zip(*rows, strict=False)
    return [column[0] for column in takewhile(lambda column: len(set(column)) == 1, columns)]


def _choices(values: list[str]) -> list[str]:
    """Return expressions for one step of all URLs, from the least to what tells more."""
    if len(set(values)) == 1:
        return [_literal(values[0])]
    if all(value.isascii() and value.isdigit() for value in values):
        return [r"\d+"]
    begins, ends = _common_prefix(values), _common_suffix(values)
    inner = [value[len(begins) : len(value) - len(ends)] for value in values]
    choices = [f"[^/]+{_literal(ends)}"] if all(inner) else []
    if begins and all(inner):
        choices.append(f"{_literal(begins)}[^/]+{_literal(ends)}")
    if all(part.isascii() and part.isdigit() for part in inner):
        choices.append(rf"{_literal(begins)}\d+{_literal(ends)}")
    if all("A" <= value[:1] <= "Z" for value in values) and all(part[1:] or not begins for part in inner):
        choices.append(f"[A-Z][^/]*{_literal(ends)}")
    words = sorted(set(values))
    # Words that several URLs share name sections; a word that one URL has is its own.
    if len(words) <= _MOST_WORDS and len(values) >= 2 * len(words):
        choices.append(f"(?:{'|'.join(map(_literal, words))})")
    return choices or ["[^/]+"]


def _end(ours: list[_Target]) -> str:
    """Return what stands behind the last step: a slash that may be left out, and the query."""
    slash = "" if all(_EXTENSION.search(target.steps[-1]) for target in ours if target.steps) else "/?"
    if not any(target.text.partition("?")[0].endswith("/") for target in ours) and not slash:
        return _query(ours)
    return f"/?{_query(ours)}"


def _query(ours: list[_Target]) -> str:
    """Return an expression for the queries: names that all have, or anything, or nothing."""
    if not any(target.query for target in ours):
        return ""
    names = [{pair.partition("=")[0] for pair in target.query.split("&")} - {""} for target in ours]
    common = sorted(set.intersection(*names))
    if not common:
        return r"(?:\?.*)?"
    values = [target.query.split(f"{common[0]}=")[-1].partition("&")[0] for target in ours]
    value = r"\d+(?:&.*)?" if all(one.isascii() and one.isdigit() for one in values) else ".*"
    return rf"\?(?:.*&)?{_literal(common[0])}={value}"


def _common_prefix(values: list[str]) -> str:
    match = _WHOLE_PREFIX.match(_shared_start(values))
    return match[0] if match else ""


def _common_suffix(values: list[str]) -> str:
    match = _WHOLE_SUFFIX.search(_shared_start([value[::-1] for value in values])[::-1])
    return match[0] if match else ""


def _shared_start(values: list[str]) -> str:
    # What the first and the last in order share, all share.
    first, last = min(values), max(values)
    same = takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    return "".join(character for character, _ in same)


def _literal(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", text)
