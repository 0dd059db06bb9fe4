"""Regular expressions on a page's text: compiled, tried, and run within a bound of work that needs no clock."""

import dataclasses
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

import re2
from msgspec import Struct

from scrapy_dedup.core.errors import DedupError

_MANY_NEWLINES = re.compile(r"\n[ \t]*(?:\n[ \t]*){2,}")


class TextSpan(NamedTuple):
    """A part of a text that a pattern matches."""

    start: int
    end: int
    pattern: str


def without_overlaps(spans: Iterable[TextSpan]) -> tuple[TextSpan, ...]:
    """Return spans in order; what two share, the one that was given first has.

    What is left of a span between others counts as spans of its own.
    """
    given = list(spans)
    bounds = sorted({place for span in given for place in span[:2]})
    numbers = {place: number for number, place in enumerate(bounds)}
    # Each stretch between two bounds is owned once; owned ones are jumped over.
    owners: list[str | None] = [None] * len(bounds)
    jumps = list(range(len(bounds)))
    for span in given:
        at, last = numbers[span.start], numbers[span.end]
        while (at := _free(jumps, at)) < last:
            owners[at] = span.pattern
            jumps[at] = at + 1
    return tuple(_joined(bounds, owners))


def _free(jumps: list[int], at: int) -> int:
    while jumps[at] != at:
        jumps[at] = jumps[jumps[at]]
        at = jumps[at]
    return at


def _joined(bounds: Sequence[int], owners: Sequence[str | None]) -> Iterator[TextSpan]:
    for start, end, owner in zip(bounds, bounds[1:], owners, strict=False):
        if owner is not None:
            yield TextSpan(start, end, owner)


def covers_all(text: str, spans: Sequence[TextSpan]) -> bool:
    """Say whether nothing but white space is left of a text without spans, given in order."""
    return not "".join(_between(text, spans)).strip()


def cut_out(text: str, spans: Sequence[TextSpan]) -> str:
    """Return a text without spans, given in order; empty lines that they leave are closed up.

    The text as it is where there are none.
    """
    if not spans:
        return text
    return _MANY_NEWLINES.sub("\n\n", "".join(_between(text, spans))).strip()


def _between(text: str, spans: Sequence[TextSpan]) -> Iterator[str]:
    begin = 0
    for span in spans:
        yield text[begin : span.start]
        begin = span.end
    yield text[begin:]


MOST_PATTERNS: Final = 2_000
_MOST_CHARS: Final = 10_000
_MOST_SLOW: Final = 50
# Measured: compiling takes 0.4 µs and 20 bytes an instruction. `copyright \d{4} .* rights` has 376, `\w+` 1,349 and
# `\w{3,100}` 134,502, for all letters of all scripts.
_MOST_INSTRUCTIONS: Final = 2_000_000

# Work is bytes searched, times what the program weighs. Measured: an automaton that is never the same twice takes 3 ns
# a byte and instruction up to 60 instructions, 1 ns at 500; all patterns of a page end within 2 s.
_MOST_WORK: Final = 200_000_000
_MOST_WEIGHED: Final = 500
_INSTRUCTIONS_A_UNIT: Final = 4
# Of all slow expressions of one page together.
_SLOW_SECONDS: Final = 1.0
_LEAST_SECONDS: Final = 0.02
# What makes expressions that go back and forth do so for ages.
_SAMPLE: Final = "a" * 64 + "\n\n" + "ab " * 32 + "[x](y) " * 16 + "1.2.3 " * 16 + "\u00e9\u202e!"

# Python's classes know all scripts, those of RE2 only ASCII: white space of the web is often no-break.
_SPACES: Final = r"\s\x0b\x1c-\x1f\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}"
_CLASSES: Final = {"s": _SPACES, "d": r"\p{Nd}", "w": r"\pL\pN_"}
_WITHIN: Final = {**_CLASSES, "D": r"\P{Nd}"}
_OUTSIDE: Final = (
    {name: f"[{members}]" for name, members in _CLASSES.items()}
    | {name.upper(): f"[^{members}]" for name, members in _CLASSES.items()}
    | {"Z": r"\z"}
)
_HEX_DIGITS: Final = {"u": 4, "U": 8}


class PatternError(DedupError):
    """The text is no expression that can be used."""


class PatternHeld(StrEnum):
    """Why a pattern was not carried out on a page."""

    WHOLE_PAGE = "whole_page"
    """Nothing, or next to nothing, would be left of the page."""
    PROTECTED = "protected"
    """It selects most of the text that is left: on this page it is content."""
    TIMEOUT = "timeout"
    SWITCHED_OFF = "switched_off"
    """It took too long on pages before."""
    TOO_MUCH_WORK = "too_much_work"
    """The page is too large for this pattern, or for so many."""


class HeldBack(NamedTuple):
    """A pattern that was not carried out on a page."""

    pattern: str
    reason: PatternHeld


class Expression(Struct, frozen=True):
    """One expression that can be used."""

    source: str
    """As it was written."""
    program: Any
    is_slow: bool = False
    """Whether it goes back and forth: only then a time limit holds for it."""


class PatternMatches(Struct, frozen=True):
    """What expressions match in a text."""

    spans: tuple[TextSpan, ...] = ()
    """In order, without overlaps; of two expressions the earlier one has what both match."""
    held: tuple[HeldBack, ...] = ()


def compile_expression(source: str, *, allow_slow: bool = False) -> Expression:
    """Return an expression, compiled and tried on a short text.

    Args:
        source: as for Python's `re`.
        allow_slow: whether one that RE2 refuses may be run by backtracking, with a time limit.

    Raises:
        PatternError: it cannot be used; the message says why.
    """
    shown = repr(source if len(source) <= 200 else f"{source[:200]}…")
    if not source.strip() or len(source) > _MOST_CHARS:
        raise PatternError(f"{shown}: an expression has 1 to {_MOST_CHARS} characters")
    try:
        program = re2.compile(to_re2(source).encode(), _options())
    except (re2.error, UnicodeEncodeError, ValueError) as error:
        return _slow(source, shown, _reason(error), allowed=allow_slow)
    program.search(_SAMPLE.encode())
    return Expression(source, program)


def _slow(source: str, shown: str, refused: str, *, allowed: bool) -> Expression:
    # Few crawls have an expression that RE2 refuses.
    import regex  # noqa: PLC0415

    try:
        program = regex.compile(source)
    except (regex.error, ValueError, OverflowError, RecursionError) as error:
        raise PatternError(f"{shown} is no expression: {error}") from error
    if not allowed:
        raise PatternError(
            f"{shown} cannot be run in linear time (RE2: {refused}): rewrite it, or set"
            " DEDUP_ALLOW_SLOW_PATTERNS = True"
        )
    try:
        program.search(_SAMPLE, timeout=_SLOW_SECONDS)
    except TimeoutError as error:
        raise PatternError(f"{shown} takes more than {_SLOW_SECONDS:.0f} s on {len(_SAMPLE)} characters") from error
    return Expression(source, program, is_slow=True)


def _options() -> Any:
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    return options


def _reason(error: Exception) -> str:
    told = error.args[0] if error.args else error
    return told.decode("utf-8", "replace") if isinstance(told, bytes) else str(told)


@dataclasses.dataclass(frozen=True, slots=True)
class Expressions:
    """Expressions that are run together; those whose words a text does not have are not run."""

    members: tuple[Expression, ...] = ()
    _filter: Any = dataclasses.field(default=None, repr=False, compare=False)

    def find(self, text: str, off: Collection[str] = ()) -> PatternMatches:
        """Return what the expressions match, within a bound of work.

        Args:
            text: to search.
            off: expressions that are not to be run.
        """
        if not self.members or not text:
            return PatternMatches()
        spans: list[TextSpan] = []
        held: list[HeldBack] = []
        searching = _Searching(text, sum(one.is_slow for one in self.members))
        for one in self._possible(searching.encoded):
            if one.source in off:
                held.append(HeldBack(one.source, PatternHeld.SWITCHED_OFF))
                continue
            own, reason = searching.run(one)
            if reason is None and own and covers_all(text, own):
                own, reason = [], PatternHeld.WHOLE_PAGE
            spans += own
            if reason is not None:
                held.append(HeldBack(one.source, reason))
        kept = without_overlaps(spans)
        if kept and covers_all(text, kept):
            names = dict.fromkeys(span.pattern for span in kept)
            return PatternMatches((), (*held, *(HeldBack(name, PatternHeld.WHOLE_PAGE) for name in names)))
        return PatternMatches(kept, tuple(held))

    def _possible(self, encoded: bytes) -> Iterator[Expression]:
        quick = [one for one in self.members if not one.is_slow]
        possible = self._filter.Match(encoded, potential=True) if self._filter is not None else None
        some = set(possible or ())
        yield from (one for place, one in enumerate(quick) if place in some)
        yield from (one for one in self.members if one.is_slow)


def compile_expressions(sources: Iterable[str], *, allow_slow: bool = False) -> Expressions:
    """Return expressions that are run together; one that is given twice counts once.

    Raises:
        PatternError: one cannot be used, or they are too many or too large.
    """
    members = tuple(_each_compiled(sources, allow_slow=allow_slow))
    quick = [one for one in members if not one.is_slow]
    if not quick:
        return Expressions(members)
    words = re2.Filter()
    for one in quick:
        words.Add(to_re2(one.source).encode(), _options())
    words.Compile()
    return Expressions(members, words)


def check_expressions(sources: Iterable[str], *, allow_slow: bool = False) -> int:
    """Return how many instructions expressions have that can be run together.

    Raises:
        PatternError: one cannot be used, or they are too many or too large.
    """
    return sum(_size(one) for one in _each_compiled(sources, allow_slow=allow_slow))


def _size(one: Expression) -> int:
    return 0 if one.is_slow else int(one.program.programsize)


def _each_compiled(sources: Iterable[str], *, allow_slow: bool) -> Iterator[Expression]:
    unique = list(dict.fromkeys(sources))
    if len(unique) > MOST_PATTERNS:
        raise PatternError(f"{len(unique)} expressions: at most {MOST_PATTERNS} can be used together")
    slow = size = 0
    for source in unique:
        one = compile_expression(source, allow_slow=allow_slow)
        slow, size = slow + one.is_slow, size + _size(one)
        if slow > _MOST_SLOW:
            raise PatternError(f"at most {_MOST_SLOW} expressions that cannot be run in linear time may be used")
        if size > _MOST_INSTRUCTIONS:
            raise PatternError(
                f"up to {source[:100]!r} the expressions are {size:,} instructions of RE2, {_MOST_INSTRUCTIONS:,} can"
                r" be used together: write \w+ for \w{3,100}, and [a-z] where no other letters are meant"
            )
        yield one


class _Searching:
    """One text, and the work that may still be spent on it."""

    def __init__(self, text: str, slow: int) -> None:
        self._text = text
        self.encoded = text.encode("utf-8", "replace")
        self._is_ascii = len(self.encoded) == len(text)
        self._work = _MOST_WORK
        self._seconds = max(_LEAST_SECONDS, _SLOW_SECONDS / max(1, slow))

    def run(self, one: Expression) -> tuple[list[TextSpan], PatternHeld | None]:
        """Return what an expression matches; nothing of one that cannot be run to its end."""
        if one.is_slow:
            return self._run_slow(one)
        places: list[tuple[int, int]] = []
        weight = 1 + min(one.program.programsize, _MOST_WEIGHED) // _INSTRUCTIONS_A_UNIT
        end, begin = len(self.encoded), 0
        matches = one.program.finditer(self.encoded)
        while True:
            # An automaton may look to the end of a text before it knows that a match ended early.
            self._work -= (end - begin) * weight
            if self._work < 0:
                return [], PatternHeld.TOO_MUCH_WORK
            found = next(matches, None)
            if found is None:
                break
            begin = found.end()
            if found.start() < begin:
                places.append(found.span())
        return [TextSpan(start, stop, one.source) for start, stop in self._in_characters(places)], None

    def _run_slow(self, one: Expression) -> tuple[list[TextSpan], PatternHeld | None]:
        try:
            found = [match.span() for match in one.program.finditer(self._text, timeout=self._seconds)]
        except TimeoutError:
            return [], PatternHeld.TIMEOUT
        return [TextSpan(start, stop, one.source) for start, stop in found if start < stop], None

    def _in_characters(self, places: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """Iterate over places in the text, given those in its bytes, in order."""
        if self._is_ascii:
            yield from places
            return
        seen_bytes = seen = 0
        for begin, end in places:
            start = seen + len(self.encoded[seen_bytes:begin].decode("utf-8", "ignore"))
            seen = start + len(self.encoded[begin:end].decode("utf-8", "ignore"))
            seen_bytes = end
            yield start, seen


class Stripped(NamedTuple):
    """A part of a text that was cut out."""

    pattern: str
    text: str


def strip_pdf_boilerplate(text: str, patterns: Expressions | Iterable[str]) -> tuple[str, list[Stripped]]:
    """Return the text of a PDF file without what the patterns match, and what that was.

    A pattern that would leave nothing is not carried out.

    Args:
        text: of one file.
        patterns: compiled, or as they are written.

    Raises:
        PatternError: one that is not compiled cannot be used.
    """
    known = patterns if isinstance(patterns, Expressions) else compile_expressions(patterns)
    found = known.find(text)
    return cut_out(text, found.spans), [Stripped(one.pattern, text[one.start : one.end]) for one in found.spans]


def to_re2(source: str) -> str:
    r"""Return the expression for RE2: `\s`, `\d` and `\w` with all scripts, `\Z` and `\u00e9` as it spells them.

    Word boundaries stay those of ASCII, as do `\S` and `\W` among the members of a class.
    """
    parts: list[str] = []
    place, class_from = 0, -1
    while place < len(source):
        letter = source[place]
        if letter == "\\":
            written, place = _escape(source, place + 1, within=class_from >= 0)
            parts.append(written)
            continue
        if class_from < 0 and letter == "[":
            class_from = place + 1 + source.startswith("^", place + 1)
        elif letter == "]" and class_from >= 0 and place > class_from:
            class_from = -1
        parts.append(letter)
        place += 1
    return "".join(parts)


def _escape(source: str, place: int, *, within: bool) -> tuple[str, int]:
    """Return what stands for a backslash and what follows, and the place behind."""
    name = source[place : place + 1]
    digits = source[place + 1 : place + 1 + _HEX_DIGITS.get(name, 0)]
    if name in _HEX_DIGITS and len(digits) == _HEX_DIGITS[name]:
        return f"\\x{{{digits}}}", place + 1 + len(digits)
    known = _WITHIN if within else _OUTSIDE
    return known.get(name, f"\\{name}"), place + 1
