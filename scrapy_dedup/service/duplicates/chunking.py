"""A page's text as chunks: which of them go out, which are left out, and by which layer."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from scrapy_dedup.core.chunks.chunks import GIVEN, Chunk, ChunkPolicy, ChunkState, StoredChunk, split_into_chunks
from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.service.policies import imported
from scrapy_dedup.settings import Settings

if TYPE_CHECKING:
    from scrapy_dedup.core.chunks.language import LanguageVerdict

CHUNK: Final = "chunk"
LANGUAGE: Final = "language"
WITHIN: Final = "repeats on the page"
ACROSS: Final = "another page gives it"
GONE: Final = "no longer on the page"
_HASH_BYTES: Final = 16
# What a line of a list shows.
_SAMPLE_CHARS: Final = 80
_TOKENIZER: Final = 'DEDUP_CHUNK["tokenizer"]'


class JudgedChunk(Struct, frozen=True):
    """A chunk, and what becomes of it."""

    chunk: Chunk
    state: ChunkState = "added"
    layer: str | None = None
    """That left it out."""
    reason: str | None = None
    language: str | None = None
    mixed: bool = False
    """Parts of it are in a language that is not wanted; it stays."""
    holder: bytes | None = None
    """The page that gives it."""
    shadowed: tuple[str, ...] = ()
    """Layers in the shadow that would have left it out."""

    @property
    def key(self) -> bytes:
        """By what it is the same on another page."""
        return self.chunk.hash[:_HASH_BYTES]

    @property
    def is_given(self) -> bool:
        """Whether it goes out."""
        return self.state in GIVEN

    @property
    def stored(self) -> StoredChunk:
        """It as it is stored."""
        chunk = self.chunk
        return StoredChunk(
            position=chunk.position,
            chunk_id=chunk.id,
            content_hash=self.key,
            state=self.state,
            kind=chunk.kind.value,
            chars=len(chunk.text),
            size=chunk.size,
            sample=chunk.text[:_SAMPLE_CHARS],
            language=self.language,
            layer=self.layer,
            reason=self.reason,
            holder=self.holder,
        )


class PageChunks(Struct, frozen=True):
    """What becomes of a page's text."""

    chunks: Sequence[JudgedChunk] = ()
    gone: Sequence[StoredChunk] = ()
    """Those of its last version that went out and are no longer in it."""

    @property
    def given(self) -> list[JudgedChunk]:
        """Return those that go out."""
        return [one for one in self.chunks if one.is_given]

    def left_out(self) -> list[tuple[str, str, int, int]]:
        """Return of each layer how many chunks, and characters, it left out, behind its name.

        First "", or "shadow/" for what it would have left out.
        """
        texts: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for one in self.chunks:
            if one.layer is not None:
                texts["", one.layer].append(len(one.chunk.text))
            for layer in one.shadowed:
                texts["shadow/", layer].append(len(one.chunk.text))
        return [(prefix, layer, len(chars), sum(chars)) for (prefix, layer), chars in sorted(texts.items())]

    def counts(self) -> dict[str, int]:
        """Return by how much they add to the stats, by their names without `dedup/`."""
        found: dict[str, int] = {}
        if self.chunks:
            found |= {"chunks/in": len(self.chunks), "chunks/out": len(self.given)}
        if self.gone:
            found["chunks/gone"] = len(self.gone)
        for prefix, layer, chunks, chars in self.left_out():
            found |= {f"{prefix}{layer}/chunks": chunks, f"{prefix}{layer}/chars": chars}
        return found


class Stopwatch(dict[str, float]):
    """How many seconds of this thread's CPU time layers took, by the names of stats without `dedup/`.

    Each thread has its own, or one waits for the other.
    """

    @contextmanager
    def on(self, layer: str) -> Iterator[None]:
        """Count what is done meanwhile for a layer."""
        name, began = f"seconds/{layer}", time.thread_time()
        try:
            yield
        finally:
            self[name] = self.get(name, 0.0) + time.thread_time() - began


def makes_chunks(settings: Settings) -> bool:
    """Say whether texts are divided at all."""
    return settings.chunk_enabled or (settings.language_enabled and bool(settings.languages))


def divide(
    content: str, page_key: bytes, declared: str | None, settings: Settings, watch: Stopwatch
) -> list[JudgedChunk]:
    """Return the chunks of a clean text, judged by what the page alone shows: repeats, and languages.

    *page_key* names the chunks; *declared* is the language that the page says it is in.
    """
    with watch.on(CHUNK):
        policy = ChunkPolicy(settings.chunk_size, min(settings.chunk_overlap, settings.chunk_size // 2))
        chunks = split_into_chunks(content, page_key, policy, measure_of(settings.chunk_tokenizer))
    with watch.on(LANGUAGE):
        spoken = _languages(chunks, declared, settings)
    found, met = list[JudgedChunk](), set[bytes]()
    for chunk, verdict in zip(chunks, spoken, strict=True):
        judged = JudgedChunk(chunk)
        if verdict is not None:
            judged = replace(judged, language=verdict.language, mixed=verdict.mixed)
        if settings.chunk_enabled and chunk.hash in met:
            judged = _left_out(judged, CHUNK, WITHIN, settings)
        met.add(chunk.hash)
        if verdict is not None and not verdict.keep and judged.is_given:
            reason = f"{verdict.language} is not wanted ({verdict.confidence:.2f} sure)"
            judged = _left_out(judged, LANGUAGE, reason, settings)
        found.append(judged)
    return found


def _left_out(
    chunk: JudgedChunk, layer: str, reason: str, settings: Settings, *, holder: bytes | None = None
) -> JudgedChunk:
    """Return a chunk that a layer leaves out; in the shadow it goes on to the next layer, as if this one were off."""
    if layer not in settings.acting:
        return replace(chunk, shadowed=(*chunk.shadowed, layer))
    return replace(chunk, state="removed", layer=layer, reason=reason, holder=holder)


def _languages(
    chunks: Sequence[Chunk], declared: str | None, settings: Settings
) -> "Sequence[LanguageVerdict] | Sequence[None]":
    if not settings.language_enabled or not settings.languages:
        return [None] * len(chunks)
    from scrapy_dedup.core.chunks import language  # noqa: PLC0415 (few crawls)

    detect = language.light() if settings.language_detector == "light" else language.careful(settings.languages)
    policy, sure = language.LanguagePolicy(settings.languages), settings.language_confidence
    policy = replace(policy, confidence=sure, doubt=max(sure, policy.doubt))
    return language.judge_languages(chunks, declared, detect, policy)


def across(
    chunks: Sequence[JudgedChunk],
    holders: Mapping[bytes, Collection[bytes]],
    before: Sequence[StoredChunk],
    settings: Settings,
) -> PageChunks:
    """Return the chunks, without those that enough other pages hold, beside those of the page's last version.

    *holders* are, of each text, the other pages that hold it, the one that is named as its holder first; *before* are
    the page's chunks of its last version.
    """
    went_out = {one.chunk_id for one in before if one.state in GIVEN}
    found = []
    for one in chunks:
        is_asked = settings.chunk_enabled and one.layer is None and CHUNK not in one.shadowed
        others = holders.get(one.key, ()) if is_asked else ()
        judged = one
        if others and len(others) >= settings.chunk_min_documents:
            judged = _left_out(one, CHUNK, ACROSS, settings, holder=next(iter(others)))
        if judged.is_given and one.chunk.id in went_out:
            judged = replace(judged, state="kept")
        found.append(judged)
    now = {one.chunk.id for one in found}
    return PageChunks(found, [one for one in before if one.state in GIVEN and one.chunk_id not in now])


def as_before(chunks: Sequence[JudgedChunk], before: Sequence[StoredChunk]) -> PageChunks:
    """Return the chunks of a page that did not change: each is what it was."""
    known = {one.chunk_id: one for one in before}
    found = []
    for one in chunks:
        stored = known.get(one.chunk.id)
        if stored is not None and stored.state in GIVEN:
            found.append(replace(one, state="kept", layer=None, reason=None))
        elif stored is not None:
            layer, reason, holder = stored.layer, stored.reason, stored.holder
            found.append(replace(one, state="removed", layer=layer, reason=reason, holder=holder))
        else:
            found.append(one)
    return PageChunks(found)


def states_before(before: Sequence[StoredChunk]) -> dict[str, int]:
    """Return how many chunks of a page that did not change have which state, as `as_before` gives them."""
    return dict(sorted(Counter("kept" if one.state in GIVEN else "removed" for one in before).items()))


def chunks_report(chunks: PageChunks) -> list[dict[str, Any]]:
    """Return what an item says of its chunks: those that go out with their text, the others with the reason."""
    return [chunk_report(one) for one in chunks.chunks] + [
        {"id": one.chunk_id, "hash": one.content_hash.hex(), "state": "removed", "reason": GONE} for one in chunks.gone
    ]


def chunks_as_asked(chunks: PageChunks, settings: Settings) -> list[dict[str, Any]] | dict[str, int]:
    """Return what a page's own item says of its chunks: how many have which state, or all if asked."""
    report = chunks_report(chunks)
    return report if "chunks" in settings.item_details else states_of(report)


def states_of(report: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return how many chunks of a report have which state."""
    return dict(sorted(Counter(one["state"] for one in report).items()))


def chunk_report(one: JudgedChunk) -> dict[str, Any]:
    """Return a chunk as it stands on an item."""
    chunk = one.chunk
    report: dict[str, Any] = {
        "id": chunk.id,
        "hash": chunk.hash.hex(),
        "state": one.state,
        "position": chunk.position,
        "kind": chunk.kind.value,
        "size": chunk.size,
        "headings": list(chunk.headings),
    }
    if one.is_given:
        report["text"] = chunk.text
        if chunk.overlap:
            report["overlap"] = chunk.overlap
    else:
        report |= {"layer": one.layer, "reason": one.reason}
        if one.holder is not None:
            report["holder"] = one.holder.hex()
    if one.language is not None:
        report["language"] = one.language
    if one.mixed:
        report["mixed"] = True
    return report


class TokenizerError(DedupError):
    """DEDUP_CHUNK["tokenizer"] names nothing that counts."""


@lru_cache(maxsize=16)
def measure_of(path: str) -> Callable[[str], int]:
    """Return what measures a text: characters, or the function that a path names.

    Raises:
        TokenizerError: there is no such function, or what it returns is neither a number nor has a length.
    """
    if not path:
        return len
    tokenize = imported(path, _TOKENIZER, "project.tokens.count", TokenizerError)

    def measure(text: str) -> int:
        found = tokenize(text)
        return found if isinstance(found, int) else len(found)

    try:
        measure("One short text.")
    except Exception as error:
        raise TokenizerError(
            f"{_TOKENIZER}={path!r}: called with a text it fails ({error}); it needs to return a number of"
            " tokens, or the tokens"
        ) from error
    return measure
