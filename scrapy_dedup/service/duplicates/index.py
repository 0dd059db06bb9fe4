"""What other pages of the project have of a page: its title, its text, most of it, or some of its chunks.

Asked is the store, and what of this run is on its way there: two pages that come at once must not both go out, nor both
be left out.
"""

from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Final, Generic, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from scrapy_dedup.core.chunks.chunks import HOLDING
from scrapy_dedup.core.duplicates import (
    DUPLICATE,
    LAYERS,
    NEAR_DUPLICATE,
    TITLE,
    DuplicatePolicy,
    Same,
    Shingles,
    Text,
    promising,
    shingles,
    stands_for,
)
from scrapy_dedup.core.pages.fingerprints import parts_hash
from scrapy_dedup.core.pages.render import plain
from scrapy_dedup.core.urls.seen import Latest
from scrapy_dedup.service.cut.removals import ACTION, SHADOW
from scrapy_dedup.service.duplicates.chunking import PageChunks, Stopwatch, across
from scrapy_dedup.service.duplicates.page_facts import PageFacts
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.engine.codec import Packer, unpack_text
from scrapy_dedup.store.records.records import (
    ChunksRecord,
    ClaimKey,
    ClaimKind,
    DecisionRecord,
    ForgetRecord,
    PageKnowledge,
    SignatureRecord,
    Twin,
)
from scrapy_dedup.store.records.shared import BandMatch, Holders, Question
from scrapy_dedup.store.workers import Lost
from scrapy_dedup.store.writer import ProjectStore

# As for sketches of aliases: what is on its way to the store is less.
_RECENT_PAGES: Final = 1_000
_RECENT_CHARS: Final = 20_000_000
# Candidates whose texts are read and compared: a page is nearly like two clusters at most, as a rule.
_MOST_COMPARED: Final = 8

Name = TypeVar("Name")


class _Recent(Struct, frozen=True):
    facts: PageFacts
    """Without its text and its chunks, which would be most of all that is held."""
    text: bytes
    """Its words, packed: few pages are compared by them."""
    chars: int
    same: Same | None
    dropped: bool
    texts: frozenset[bytes] = frozenset()
    """Of its chunks, held or not."""

    def shingles(self) -> Shingles:
        """Return the runs of its words."""
        return shingles(unpack_text(self.text))


class _Other(Struct, frozen=True):
    text: Text
    went_out: bool


class DuplicateIndex:
    """The other pages of one project; `ask` may be called from any thread, the rest from one."""

    def __init__(self, store: ProjectStore, *, is_alone: bool = False) -> None:
        """Take whether nobody else has written or writes to the store."""
        self._store = store
        self.knows_all = is_alone
        """Whether the store has nothing that is not in memory: until something is forgotten, or others write to it."""
        self._recent: OrderedDict[bytes, _Recent] = OrderedDict()
        self._packer = Packer()
        self._chars = 0
        self._titles = KeyIndex[tuple[str, bytes]]()
        self._texts = KeyIndex[bytes]()
        self._bands = KeyIndex[int]()
        self._chunks = KeyIndex[bytes]()
        self._holds: dict[bytes, frozenset[bytes]] = {}
        self._withdrawn: Latest[bytes, None] = Latest(_RECENT_PAGES)
        """Pages whose items failed: who asked the store before that still has an answer with them."""

    def ask(self, facts: PageFacts, settings: Settings) -> Holders:
        """Return what the store knows, with the texts to compare; blocks, so call it in a thread.

        Raises:
            StoreError: the store failed.
        """
        if not self.asks_store(facts.page_key):
            return Holders()
        layers = asked_layers(settings)
        sketch = facts.sketch
        question = Question(
            page_key=facts.page_key,
            domain=facts.domain,
            title_key=facts.title_key if TITLE in layers else None,
            text_hash=facts.text_hash if DUPLICATE in layers else None,
            bands=sketch.bands if sketch is not None and NEAR_DUPLICATE in layers else (),
            hashes=frozenset(one.key for one in facts.chunks if one.layer is None),
            is_new=facts.is_new and facts.page_key not in self._recent,
            of_project=settings.near_duplicate_scope == "project",
        )
        with facts.watch.on("lookups"):
            answer = self._store.others(question)
        titles = [twin for twin in answer.titles if not twin.dropped and twin.text_hash != facts.text_hash]
        wanted = {twin.page_key for twin in titles[: settings.title_common]}
        if sketch is not None:
            near = promising(sketch, answer.near, settings.near_duplicate_jaccard, _MOST_COMPARED)
            wanted |= {one.page_key for one in near}
        return replace(answer, contents=self._store.texts_of(wanted)) if wanted else answer

    def asks_store(self, page_key: bytes) -> bool:
        """Say whether the store may know of a page what is not in memory."""
        return not self.knows_all or page_key in self._recent

    def compare(self, facts: PageFacts, found: Holders, settings: Settings) -> "PageComparison":
        """Return what becomes of a page, and let it count for those that come after it."""
        shadowed: list[Same] = []
        layers = set(asked_layers(settings))
        same = self.same(facts, found, settings, layers)
        while same is not None and same.layer in settings.shadowing:
            shadowed.append(same)
            layers.discard(same.layer)
            same = self.same(facts, found, settings, layers)
        goes_out = same is None or (same.layer == NEAR_DUPLICATE and settings.near_duplicate != "drop")
        chunks = self.chunks(facts, found, settings) if goes_out else PageChunks()
        self.admit(facts, same, chunks, dropped=not goes_out)
        return PageComparison(facts, same, not goes_out, chunks, tuple(shadowed), found)

    def same(self, facts: PageFacts, found: Holders, settings: Settings, layers: Collection[str]) -> Same | None:
        """Return which other page stands for this one; None: none does."""
        stored = _stored(facts, found, settings)
        known = {key: one for key, one in stored.items() if key not in self._withdrawn}
        # What this run says of a page is newer than what the store does.
        alike = self._alike(facts, settings)
        known |= {key: _Other(one.facts.text_of(facts), went_out=not one.dropped) for key, one in alike.items()}
        with_title = {one.text.text_hash for one in known.values() if one.text.same_title} - {facts.text_hash}
        compares_titles = len(with_title) < settings.title_common
        near = self._near(facts, alike, settings)
        others = [
            replace(one.text, shingles=alike[key].shingles())
            # Runs of words take a millisecond: they are made only where they can decide.
            if key in alike
            and one.text.text_hash != facts.text_hash
            and (key in near or (one.text.same_title and compares_titles))
            else one.text
            for key, one in sorted(known.items())
            if one.went_out and key != facts.page_key and key not in facts.siblings
        ]
        if not others:
            return None
        own = Text(facts.page_key, facts.text_hash, facts.shingles())
        policy = DuplicatePolicy(
            trusts_title=settings.title_trust == "always",
            title_agreement=settings.title_agreement,
            title_common=settings.title_common,
            near_at=settings.near_duplicate_jaccard,
        )
        return stands_for(own, others, len(with_title), policy, layers)

    def with_text(self, page_key: bytes, domain: str, text_hash: bytes | None, settings: Settings) -> list[bytes]:
        """Return the other pages of this run that go out with the text of one, on any domain or on its own."""
        found = self._texts.of([text_hash]) - {page_key} if text_hash is not None else ()
        of_project = settings.near_duplicate_scope == "project"
        return sorted(key for key in found if of_project or self._recent[key].facts.domain == domain)

    def _near(self, facts: PageFacts, alike: Mapping[bytes, _Recent], settings: Settings) -> set[bytes]:
        """Return which pages of this run may nearly be the page, by their sketches."""
        if facts.sketch is None:
            return set()
        sketched = [
            BandMatch(key, one.facts.sketch.shingles, one.facts.sketch.signature, 1)
            for key, one in alike.items()
            if one.facts.sketch is not None and one.same is None and not one.dropped
        ]
        found = promising(facts.sketch, sketched, settings.near_duplicate_jaccard, _MOST_COMPARED)
        return {one.page_key for one in found}

    def _alike(self, facts: PageFacts, settings: Settings) -> dict[bytes, _Recent]:
        """Return pages of this run that have something of a page, in the order of their keys."""
        keys = set(self.with_text(facts.page_key, facts.domain, facts.text_hash, settings))
        if facts.title_key is not None:
            keys |= self._titles.of([(facts.domain, facts.title_key)])
        if facts.sketch is not None:
            keys |= self._bands.of(facts.sketch.bands)
        return {key: self._recent[key] for key in sorted(keys - {facts.page_key})}

    def chunks(self, facts: PageFacts, found: Holders, settings: Settings) -> PageChunks:
        """Return what becomes of the page's chunks."""
        holders: dict[bytes, list[bytes]] = {}
        for one in facts.chunks:
            of_run = self._chunks.of([one.key]) - {facts.page_key}
            stored = set(found.holders.get(one.key, ())) - of_run - {facts.page_key}
            # Those of the run first: they surely give it.
            holders[one.key] = [*sorted(of_run), *sorted(key for key in stored if self._may_hold(key, one.key))]
        return across(facts.chunks, holders, found.before, settings)

    def _may_hold(self, page_key: bytes, text: bytes) -> bool:
        """Say whether the store can be right about a holder; of a page of this run it may have the last version.

        A text that the page left to another may have moved to it since.
        """
        recent = self._recent.get(page_key)
        if recent is None:
            return page_key not in self._withdrawn
        return not recent.dropped and text in recent.texts

    def admit(self, facts: PageFacts, same: Same | None, chunks: PageChunks, *, dropped: bool) -> None:
        """Let a page count for those that come; it goes out, or another stands for it."""
        key = facts.page_key
        self.forget(key)
        self._withdrawn.pop(key, None)
        texts = frozenset(one.key for one in facts.chunks)
        packed, chars = self._packer.text(facts.text), len(facts.text)
        light = replace(facts, text="", chunks=(), watch=Stopwatch())
        self._recent[key] = _Recent(light, packed, chars, same, dropped, texts)
        self._chars += chars
        if facts.title_key is not None:
            self._titles.add([(facts.domain, facts.title_key)], key)
        if not dropped:
            self._texts.add([facts.text_hash], key)
            self._holds[key] = frozenset(one.key for one in chunks.chunks if one.state in HOLDING)
            self._chunks.add(self._holds[key], key)
            if same is None and facts.sketch is not None:
                self._bands.add(facts.sketch.bands, key)
        while len(self._recent) > _RECENT_PAGES or (self._chars > _RECENT_CHARS and len(self._recent) > 1):
            self.knows_all = False
            self.forget(next(iter(self._recent)))

    def withdraw(self, key: bytes, settings: Settings) -> ForgetRecord:
        """Let a page count no more, whose items failed, whatever the store said of it; return what is written of it."""
        self.forget(key)
        self._withdrawn[key] = None
        return ForgetRecord(key, settings.chunk_min_documents)

    def forget(self, key: bytes) -> None:
        """Let what this run said of a page not count any more: it is written, or another version of it comes."""
        recent = self._recent.pop(key, None)
        if recent is None:
            return
        facts = recent.facts
        self._chars -= recent.chars
        if facts.title_key is not None:
            self._titles.discard([(facts.domain, facts.title_key)], key)
        self._texts.discard([facts.text_hash], key)
        if facts.sketch is not None:
            self._bands.discard(facts.sketch.bands, key)
        self._chunks.discard(self._holds.pop(key, ()), key)


def _stored(facts: PageFacts, found: Holders, settings: Settings) -> dict[bytes, _Other]:
    """Return the other pages that the store knows of."""
    shingled = {key: shingles(plain(text, settings.output)) for key, text in found.contents.items()}
    others = {key: _Other(Text(key, b"", runs), went_out=True) for key, runs in shingled.items()}
    for key in found.texts:
        others[key] = _Other(Text(key, facts.text_hash, shingled.get(key)), went_out=True)
    for twin in found.titles:
        text = Text(twin.page_key, twin.text_hash, shingled.get(twin.page_key), same_title=True)
        others[twin.page_key] = _Other(text, went_out=not twin.dropped)
    return others


def asked_layers(settings: Settings) -> frozenset[str]:
    """Return which layers look for pages that stand for another."""
    off = {NEAR_DUPLICATE} if settings.near_duplicate == "off" else set[str]()
    return settings.layers.intersection(LAYERS) - off


class KeyIndex(Generic[Name]):
    """Page keys by a name that pages share."""

    def __init__(self) -> None:
        # A page key alone costs the garbage collector nothing; a set of one is looked at each time.
        self._keys: dict[Name, bytes | set[bytes]] = {}

    def add(self, names: Iterable[Name], key: bytes) -> None:
        """Note what a page has."""
        for name in names:
            held = self._keys.setdefault(name, key)
            if isinstance(held, set):
                held.add(key)
            elif held != key:
                self._keys[name] = {held, key}

    def discard(self, names: Iterable[Name], key: bytes) -> None:
        """Note what a page has no more."""
        for name in names:
            held = self._keys.get(name)
            if isinstance(held, set):
                held.discard(key)
                if len(held) == 1:
                    self._keys[name] = held.pop()
            elif held == key:
                del self._keys[name]

    def of(self, names: Iterable[Name]) -> set[bytes]:
        """Return the pages that have any of them."""
        found = set[bytes]()
        for name in names:
            held = self._keys.get(name)
            if isinstance(held, set):
                found |= held
            elif held is not None:
                found.add(held)
        return found


def claims_of(facts: PageFacts, found: Holders, settings: Settings) -> list[ClaimKey]:
    """Return what decides whether a page goes out, as far as the store does not know it yet."""
    texts = {twin.text_hash for twin in found.titles}
    by_title = TITLE in settings.acting and facts.title_key and len(texts) < settings.title_common
    return ([_title(facts)] if by_title else []) + recalled_claims(facts.domain, facts.text_hash, settings)


def recalled_claims(domain: str, text_hash: bytes | None, settings: Settings) -> list[ClaimKey]:
    """Return what decides whether a page goes out that did not change."""
    return [text_claim(domain, text_hash, settings)] if DUPLICATE in settings.acting and text_hash is not None else []


def with_holders(found: Holders, facts: PageFacts, lost: Lost, settings: Settings) -> Holders:
    """Return what the store answered, and what workers that were first have of a page.

    Whether the page that holds a title has its text, too, is told by what that one shows.
    """
    text = lost.get(text_claim(facts.domain, facts.text_hash, settings))
    title = lost.get(_title(facts)) if facts.title_key is not None else None
    # Of an earlier crawl the store may say that one was left out that goes out in this one.
    titles = [twin for twin in found.titles if twin.page_key not in (title, text)]
    if title is not None:
        titles.append(Twin(title, facts.text_hash, dropped=False))
    texts = [*found.texts]
    if text is not None and text not in texts:
        texts.append(text)
    return replace(found, texts=texts, titles=titles)


def _title(facts: PageFacts) -> ClaimKey:
    assert facts.title_key is not None
    return ClaimKey(ClaimKind.TITLE, _digest(facts.domain, facts.title_key))


def text_claim(domain: str, text_hash: bytes, settings: Settings) -> ClaimKey:
    """Return by what a text is claimed."""
    scope = domain if settings.near_duplicate_scope == "domain" else ""
    return ClaimKey(ClaimKind.TEXT, _digest(scope, text_hash))


def _digest(scope: str, key: bytes) -> bytes:
    return parts_hash(scope.encode("utf-8", "surrogatepass"), key)


MARKED = "marked"


class PageComparison(Struct, frozen=True):
    """A page's place among the others."""

    facts: PageFacts
    same: Same | None = None
    """The page that stands for it, or, of a near-duplicate that goes out, that it is nearly like."""
    dropped: bool = False
    chunks: PageChunks = field(default_factory=PageChunks)
    shadowed: tuple[Same, ...] = ()
    """What layers in the shadow would have said."""
    found: Holders = field(default_factory=Holders)
    """What the store said of it."""

    def knowledge(self, settings: Settings) -> list[PageKnowledge]:
        """Return what is written of it, so that pages that come later are compared with it."""
        facts, same = self.facts, self.same
        signature = SignatureRecord(
            page_key=facts.page_key,
            domain=facts.domain,
            text_hash=facts.text_hash,
            title_key=facts.title_key,
            language=facts.language,
            sketch=facts.sketch,
            layer=same.layer if same is not None and self.dropped else None,
            keeper=same.keeper if same is not None else None,
            jaccard=same.jaccard if same is not None else None,
        )
        # Of a page that does not go out nobody waits for a chunk: the page that stands for it has them.
        chunks = () if self.dropped else tuple([one.stored for one in self.chunks.chunks])
        return [signature, ChunksRecord(facts.page_key, chunks, settings.chunk_min_documents)]

    def decisions(self, at: datetime) -> list[DecisionRecord]:
        """Return what layers decided about it, and about its chunks."""
        key = self.facts.page_key
        found = [DecisionRecord(key, one.layer, SHADOW, f"would be dropped: {one.reason}", at) for one in self.shadowed]
        if self.same is not None and not self.dropped:
            detail = {"keeper": self.same.keeper.hex(), "jaccard": self.same.jaccard}
            found.append(DecisionRecord(key, self.same.layer, MARKED, self.same.reason, at, detail))
        for prefix, layer, chunks, chars in self.chunks.left_out():
            reason = f"{chunks} chunk{'s' if chunks > 1 else ''}, {chars} characters"
            found.append(DecisionRecord(key, layer, SHADOW if prefix else ACTION, reason, at))
        return found

    def counts(self) -> dict[str, float]:
        """Return by how much a page adds to the stats, by their names without `dedup/`."""
        found: dict[str, float] = {f"shadow/{one.layer}/items": 1 for one in self.shadowed}
        found |= self.facts.watch
        if self.dropped:
            return found
        if self.same is not None:
            found[f"{self.same.layer}/{MARKED}"] = 1
        return found | self.chunks.counts()
