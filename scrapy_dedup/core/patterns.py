"""What pages of a site lose by selectors and expressions that people wrote, and what they keep in spite of all rules.

Expressions run within a bound of work that needs no clock.
"""

import dataclasses
import difflib
import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from html import escape
from typing import Any, Final, NamedTuple, Self

import re2
from msgspec import Struct
from msgspec.structs import asdict, replace

from scrapy_dedup.core.errors import InvalidError
from scrapy_dedup.core.pages.blocks import Block, Page
from scrapy_dedup.core.pages.render import render, without_permalinks
from scrapy_dedup.core.pages.tags import Tag, plain

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


class PatternError(InvalidError):
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
    """Return an expression of Python's `re`, compiled and tried on a short text.

    With *allow_slow* one that RE2 refuses is run by backtracking, with a time limit.

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
        """Return what the expressions match, but for those that are off, within a bound of work."""
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


# No page may hold these, so none is taken for a mark where one does: it has no marks then.
_BEGIN: Final = "\ufdd1"
_END: Final = "\ufdd2"
_MARKS: Final = re.compile(f"[{_BEGIN}{_END}]")
_WORD: Final = re.compile(r"\S")
_SPACE: Final = re.compile(r"\s")
# What a text itself has of this is escaped.
_LINK_END: Final = re.compile(r"[*_~`]*\]\((?:<[^<>\n]*>|[^\s()<>]*(?:\([^\s()]*\)[^\s()]*)*)(?:\s+\"[^\"\n]*\")?\)")
# An address between two characters of a text: what is longer is passed over, and the character stays.
_LONGEST_MARKUP: Final = 10_000


class PlacedBlocks(Struct, frozen=True):
    """A page's Markdown, and where the blocks stand in it."""

    markdown: str
    regions: Mapping[int, tuple[int, int]]
    """By the place of a block: from the first character of its text to behind the last one."""


def place(page: Page, keep: Sequence[bool], base_url: str | None = None) -> PlacedBlocks:
    """Return the Markdown of the kept blocks, with the places of their texts in it."""
    if any(kept and _MARKS.search(block.text) for block, kept in zip(page.blocks, keep, strict=True)):
        return PlacedBlocks(render(page, keep, "markdown", base_url), {})
    marked = [_marked(block) if kept else block for block, kept in zip(page.blocks, keep, strict=True)]
    source = render(replace(page, blocks=marked), keep, "markdown", base_url)
    begins: list[int] = []
    ends: list[int] = []
    parts: list[str] = []
    length = last = 0
    for mark in _MARKS.finditer(source):
        parts.append(source[last : mark.start()])
        length += mark.start() - last
        last = mark.end()
        (begins if mark[0] == _BEGIN else ends).append(length)
    parts.append(source[last:])
    markdown = "".join(parts)
    kept_places = [number for number, kept in enumerate(keep) if kept]
    # A converter that moved or lost a mark leaves nobody to say which block is where: nothing is guessed.
    if not len(begins) == len(ends) == len(kept_places):
        return PlacedBlocks(markdown, {})
    return PlacedBlocks(markdown, dict(zip(kept_places, zip(begins, ends, strict=True), strict=True)))


def _marked(block: Block) -> Block:
    pieces = list(without_permalinks(block)[1])
    texts = [number for number, piece in enumerate(pieces) if isinstance(piece, str) and piece.strip()]
    if texts:
        first, last = str(pieces[texts[0]]), texts[-1]
        begin = len(first) - len(first.lstrip())
        pieces[texts[0]] = f"{first[:begin]}{_BEGIN}{first[begin:]}"
        end = str(pieces[last])
        kept = end.rstrip()
        pieces[last] = f"{kept}{_END}{end[len(kept) :]}"
    return Block(block.path, block.text, block.fingerprint, block.link_chars, tuple(pieces))


class BlockCut(Struct, frozen=True):
    """What a block loses to one pattern."""

    block: int
    pattern: str
    text: str
    """The words that go."""


class Shortened(Struct, frozen=True):
    """A page's blocks once parts of their texts are gone."""

    blocks: list[Block]
    gone: frozenset[int]
    """Places of blocks of which nothing is left."""
    cuts: tuple[BlockCut, ...]


def shorten(page: Page, placed: PlacedBlocks, spans: Sequence[TextSpan]) -> Shortened:
    """Return the blocks without what spans of their Markdown cover; of markup alone nothing is lost."""
    blocks, gone, cuts = list(page.blocks), set(), []
    ends, starts = [span.end for span in spans], [span.start for span in spans]
    for number, (begin, end) in placed.regions.items():
        own = spans[bisect_right(ends, begin) : bisect_left(starts, end)]
        if not own:
            continue
        block = page.blocks[number]
        owners = _owners(block.text, placed.markdown, begin, end, own)
        if not owners:
            continue
        patterns = dict.fromkeys(owners.values())
        cuts += [BlockCut(number, pattern, _text(block.text, owners, pattern)) for pattern in patterns]
        kept = set(range(len(_WORD.findall(block.text)))) - owners.keys()
        if kept:
            blocks[number] = _with(block, kept)
        else:
            gone.add(number)
    return Shortened(blocks, frozenset(gone), tuple(cuts))


def _owners(text: str, markdown: str, begin: int, end: int, spans: Sequence[TextSpan]) -> dict[int, str]:
    """Return which characters of a text (white space not counted) go, with the pattern that takes them.

    Each is looked for in the Markdown behind the one before: between them stand escapes and addresses of links.
    """
    owners: dict[int, str] = {}
    at = begin
    spans_left = iter(spans)
    span: TextSpan | None = next(spans_left)
    for number, word in enumerate(_WORD.finditer(text)):
        letter, begins_word = word[0], word.start() > 0 and text[word.start() - 1].isspace()
        found = _found(markdown, letter, at, min(end, at + _LONGEST_MARKUP), begins_word=begins_word)
        if found < 0:
            continue
        at = found + 1
        while span is not None and span.end <= found:
            span = next(spans_left, None)
        if span is not None and span.start <= found:
            owners[number] = span.pattern
    return owners


def _found(markdown: str, letter: str, at: int, end: int, *, begins_word: bool) -> int:
    """Return where the next character of a text stands, -1 for nowhere; an address of a link is no text."""
    link = _LINK_END.match(markdown, at, end)
    at = link.end() if link else at
    space = _SPACE.search(markdown, at, end) if begins_word else None
    return markdown.find(letter, space.end() if space else at, end)


def _text(text: str, owners: Mapping[int, str], pattern: str) -> str:
    return _only(text, {at for at, owner in owners.items() if owner == pattern})


def _only(text: str, kept: set[int]) -> str:
    """Return the characters of a text at some places, white space not counted; words that stood apart stay apart."""
    parts: list[str] = []
    number, is_apart = 0, False
    for letter in text:
        if letter.isspace():
            is_apart = True
            continue
        if number in kept:
            parts.append(f" {letter}" if is_apart and parts else letter)
            is_apart = False
        number += 1
    return "".join(parts)


def _with(block: Block, kept: set[int]) -> Block:
    """Return a block with some characters of its text; it keeps its fingerprint, by which it is known."""
    is_code = "\n" in block.text
    pieces = tuple(_pieces(block.pieces, kept, is_code=is_code))
    text = "".join(plain(piece) for piece in pieces if isinstance(piece, str))
    shown = text.strip("\n") if is_code else " ".join(text.split())
    return Block(block.path, shown, block.fingerprint, min(block.link_chars, len(shown)), pieces)


def _pieces(pieces: Sequence[str | Tag], kept: set[int], *, is_code: bool) -> Iterator[str | Tag]:
    number, after_space = 0, not is_code
    for piece in pieces:
        if not isinstance(piece, str):
            yield piece
            continue
        letters: list[str] = []
        for letter in plain(piece):
            if letter.isspace():
                if not after_space:
                    letters.append(letter)
                after_space = not is_code
                continue
            if number in kept:
                letters.append(letter)
                after_space = False
            number += 1
        if letters:
            yield escape("".join(letters), quote=False)


MOST_ENTRIES: Final = 2_000
_MOST_KEPT: Final = 100_000


class SiteConfigError(InvalidError):
    """A site's configuration cannot be used."""


class SiteConfig(Struct, frozen=True):
    """What people decided about one site; empty by default, for sites need none."""

    boilerplate_css_selectors: tuple[str, ...] = ()
    """CSS, or XPath 1.0: elements that are left out."""
    boilerplate_text_patterns: tuple[str, ...] = ()
    """Expressions of what is left out of the Markdown of pages."""
    pdf_boilerplate_patterns: tuple[str, ...] = ()
    """Expressions of what is left out of the text of PDF files."""
    keep_blocks: tuple[str, ...] = ()
    """Fingerprints of blocks that stay, in hexadecimal digits."""
    keep_pages: tuple[str, ...] = ()
    """Keys of pages of which nothing is left out, in hexadecimal digits."""
    keep_rules: tuple[str, ...] = ()
    """Names, paths, selectors or expressions of rules that are not carried out."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is decided."""
        return self == SiteConfig()

    def to_json(self) -> dict[str, list[str]]:
        """Return what JSON can hold: the keys that say something."""
        return {name: list(entries) for name, entries in asdict(self).items() if entries}

    @classmethod
    def from_json(cls, given: Any) -> Self:
        """Return the configuration that a mapping describes; `config` and `pipeline` around it are passed over.

        Raises:
            SiteConfigError: it has unknown keys, or what is no list of texts.
        """
        for name in ("config", "pipeline"):
            if isinstance(given, Mapping) and set(given) == {name}:
                given = given[name]
        if not isinstance(given, Mapping):
            raise SiteConfigError(f"a site's configuration is a mapping of {', '.join(KEYS)}")
        return cls(**{checked_key(name): entries_of(str(name), entries) for name, entries in given.items()})

    def changed(self, key: str, entries: Iterable[str]) -> Self:
        """Return this with other entries of one key.

        Raises:
            SiteConfigError: there is no such key, or the entries are none.
        """
        return replace(self, **{checked_key(key): entries_of(key, list(entries))})


class ConfigTrial(Struct, frozen=True):
    """What a configuration would mean for stored pages."""

    pages: int
    """Pages that were looked at."""
    changed: int
    chars_less: int
    """Characters that all of them together would lose; negative where more come back."""
    example: str | None = None


KEYS: Final = SiteConfig.__struct_fields__
_DIGITS: Final = {"keep_blocks": 16, "keep_pages": 32}


def checked_key(name: object) -> str:
    """Return a key's name.

    Raises:
        SiteConfigError: there is no such key.
    """
    if isinstance(name, str) and name in KEYS:
        return name
    near = difflib.get_close_matches(str(name)[:100], KEYS, n=1)
    hint = f"did you mean {near[0]}?" if near else f"the keys are {', '.join(KEYS)}"
    raise SiteConfigError(f"{str(name)[:100]!r} is no key of a site's configuration: {hint}")


def entries_of(key: str, entries: Any) -> tuple[str, ...]:
    """Return the entries of a key, each once, in the order given.

    Raises:
        SiteConfigError: they are no list of texts, too many or too long, or no keys of pages or blocks.
    """
    if not isinstance(entries, list | tuple) or not all(isinstance(one, str) for one in entries):
        raise SiteConfigError(f"{key} is a list of texts, not {type(entries).__name__}")
    most = _MOST_KEPT if key.startswith("keep_") else MOST_ENTRIES
    if len(entries) > most:
        raise SiteConfigError(f"{key} has {len(entries)} entries: at most {most} are allowed")
    for one in entries:
        if not one.strip() or len(one) > _MOST_CHARS:
            raise SiteConfigError(f"{key}: {one[:100]!r} is empty, or longer than {_MOST_CHARS} characters")
        digits = _DIGITS.get(key)
        if digits and (len(one) != digits or not set(one) <= set("0123456789abcdef")):
            raise SiteConfigError(f"{key}: {one[:100]!r} is none: it has {digits} hexadecimal digits")
    return tuple(dict.fromkeys(entries))


def get_site_config_with_db_overrides(base: SiteConfig, stored: SiteConfig | None) -> SiteConfig:
    """Return what holds for a site: the entries of all sites, then its own, each once; both are left as they are."""
    if stored is None:
        return base
    return SiteConfig(**{key: tuple(dict.fromkeys((*getattr(base, key), *getattr(stored, key)))) for key in KEYS})
