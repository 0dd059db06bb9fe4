"""Whether a page that came with 200 is the site's error page: shown by what a URL that nobody made up gives."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from hashlib import blake2b
from itertools import chain
from typing import Final
from urllib.parse import unquote, urljoin

from msgspec import Struct

from scrapy_dedup.core.pages.blocks import Block, Page
from scrapy_dedup.core.recrawl.verdicts import Repeats, main_text
from scrapy_dedup.core.urls.normal_form import is_home, split_url

_WORD: Final = re.compile(r"[^\W\d_]+")
_DIGIT: Final = re.compile(r"\d")
# A wrong "error page" loses a page, a wrong "real page" only keeps rubbish: what differs must be next to nothing.
_MOST_OTHER_WORDS: Final = 3
_MOST_OTHER_SHARE: Final = 0.02


class PageReason(StrEnum):
    """Why a page is taken for what it is."""

    SAME_AS_PROBE = "same_as_probe"
    OTHER_WORDS = "other_words"  # it says something that the error page does not, or does not say what that says
    HOME = "home"  # sites that answer every URL with their home page still have one
    EMPTY = "empty"  # neither has a word of its own: nothing was seen to agree


class ErrorPage(Struct, frozen=True):
    """The page is what the site gives for URLs that do not exist."""

    reason: PageReason = PageReason.SAME_AS_PROBE


class RealPage(Struct, frozen=True):
    """The page is one."""

    reason: PageReason


def probe_url(url: str, seed: str) -> str:
    """Return a URL on the same host that no site has; the same for the same host and seed.

    The seed is the run's, so that a site that remembers URLs it was asked for does not know it.
    """
    parts = split_url(url)
    if parts is None:
        raise ValueError(f"url={url!r}: needs an http or https URL")
    digits = blake2b(f"{parts.scheme}://{parts.authority}\0{seed}".encode(), digest_size=12).hexdigest()
    # Letters alone and one step: digits are ids to some sites, and deeper folders have error pages of their own.
    letters = digits.translate(str.maketrans("0123456789", "ghijklmnop"))
    return urljoin(f"{parts.scheme}://{parts.authority}/", letters)


def judge_page(url: str, page: Page, probes: Mapping[str, Page], repeats: Repeats) -> ErrorPage | RealPage:
    """Decide whether a page that came with 200 is the site's error page.

    Words that stand in a URL do not count ("/xyz was not found"), nor those with digits (times, request numbers), nor
    links ("try this") where the error pages themselves have different ones.

    *probes* are what URLs by `probe_url` gave, with 200; where one gave a 404, no page of the host needs to be judged.
    *repeats* are what the site's pages share.
    """
    if is_home(url):
        return RealPage(PageReason.HOME)
    ignored = frozenset(_words(unquote(" ".join((url, *probes)))))
    error = next(iter(probes.values()))
    texts = [_own_words(one, repeats, ignored) for one in (page, *probes.values())]
    links = {block.path for one in probes.values() for block in one.blocks if _is_of_links(block)}
    varying = {path for path in links if any(one.get(path) != texts[1].get(path) for one in texts[2:])}
    ours, theirs = (
        Counter[str](chain.from_iterable(words.elements() for path, words in one.items() if path not in varying))
        for one in texts[:2]
    )
    if not ours and not theirs:
        # All that they show is the site's: equal only as far as that is known.
        same = page.fingerprints == error.fingerprints and bool(page.blocks)
        return ErrorPage() if same else RealPage(PageReason.EMPTY)
    other = max((ours - theirs).total(), (theirs - ours).total())
    few = min(_MOST_OTHER_WORDS, int(_MOST_OTHER_SHARE * theirs.total()))
    return ErrorPage() if other <= few else RealPage(PageReason.OTHER_WORDS)


def _is_of_links(block: Block) -> bool:
    return 2 * block.link_chars > len(block.text) or (block.link_chars > 0 and ">li" in block.path)


def _own_words(page: Page, repeats: Repeats, ignored: frozenset[str]) -> dict[str, Counter[str]]:
    """Return a page's own words, by the path that they stand at."""
    text, found = main_text(page, repeats), dict[str, Counter[str]]()
    for passage in text.words:
        words = (word for word in _words(passage.text) if word not in ignored)
        found.setdefault(passage.path, Counter()).update(words)
    return found


def _words(text: str) -> Iterable[str]:
    for token in text.lower().split():
        # "id-4f2a": a request's number, not the words "id", "f" and "a".
        if not _DIGIT.search(token) or "/" in token:
            yield from _WORD.findall(token)
