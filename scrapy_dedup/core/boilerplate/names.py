"""How people and tools call the parts of a page: evidence for a model that weighs it, never a verdict.

Words of no site and no generator in particular: those of HTML itself, ARIA, and of the class names that appear in the
markup of many independent designs.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from math import nan
from typing import Final, NamedTuple


class Folding:
    """Paths with only those ids and classes that belong to the design; knows each path once."""

    def __init__(self, names: Collection[str]) -> None:
        self.names = frozenset(names)
        """With their "#" or "."."""
        self._steps: dict[str, str] = {}
        self._paths: dict[str, str] = {}

    def path(self, path: str) -> str:
        """Return the path without what single pages call their elements; paths of a site share most of their steps.

        No path may be deeper than Python calls itself.
        """
        found = self._paths.get(path)
        if found is None:
            above, divides, step = path.rpartition(">")
            found = self.step(step)
            if divides:
                found = f"{self.path(above)}>{found}"
            if len(self._paths) > _MOST_STEPS_KNOWN:
                self._paths.clear()
            self._paths[path] = found
        return found

    def step(self, step: str) -> str:
        """Return one step of it."""
        known = self._steps.get(step)
        if known is None:
            tag, *names = parts_of(step)
            known = self._steps[step] = tag + "".join(name for name in names if name in self.names)
            if len(self._steps) > _MOST_STEPS_KNOWN:
                self._steps.clear()
        return known


# Pages can have any number of different ids.
_MOST_STEPS_KNOWN = 20_000


def parts_of(step: str) -> list[str]:
    """Return a step's tag, then its id and classes with their "#" and "."."""
    if "#" not in step and "." not in step:
        return [step]
    return step.replace("#", "\0#").replace(".", "\0.").split("\0")


def tag_of(step: str) -> str:
    """Return the tag of a step."""
    return parts_of(step)[0]


def names_in(paths: Iterable[str]) -> frozenset[str]:
    """Return all ids and classes of some paths."""
    steps = {step for path in paths for step in path.split(">")}
    return frozenset(name for step in steps for name in parts_of(step)[1:])


def design_names(pages: Iterable[Iterable[str]], share: float) -> frozenset[str]:
    """Return the ids and classes that at least two pages have, and at least this share (0 to 1) of all.

    Sections and posts are called by what they are about (`section#installation`, `article.category-news`). Such a name
    would split what stands in one place of the design into as many paths as there are names, each too rare to judge.
    """
    of_pages = [names_in(paths) for paths in pages]
    counts = Counter(name for names in of_pages for name in names)
    needed = max(2, share * len(of_pages))
    return frozenset(name for name, count in counts.items() if count >= needed)


class PathLooks(NamedTuple):
    """What a browser showed of the text on one path of one page, in characters."""

    seen: int
    main: int
    """Of these, as many as look like what the page is about."""
    unseen: int
    """That no person sees, and no click opens."""


NO_LOOKS: Final = PathLooks(0, 0, 0)

APART: Final = 0.35
"""What looks less like content stands apart from it."""


def looks_by_path(looks: Sequence[Mapping[str, PathLooks]], folding: Folding) -> dict[str, PathLooks]:
    """Return how the text of each element itself looks, by folded path, summed over pages."""
    found: dict[str, PathLooks] = {}
    for of_page in looks:
        for path, there in of_page.items():
            folded = folding.path(path)
            found[folded] = PathLooks(*map(int.__add__, found.get(folded, NO_LOOKS), there))
    return found


# Elements that HTML made for what surrounds the content.
NAVIGATION_TAGS: Final = frozenset(["nav", "footer", "aside"])

_NO_LETTERS: Final = re.compile(r"[^a-z]+")
_TOKEN_CHARS: Final = range(3, 17)
_KEPT_CHARS: Final = 9
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


def _words(whole: str, beginnings: str, anywhere: str) -> re.Pattern[str]:
    """Words of a name, beginnings of its words, and what may stand anywhere in it."""
    of_name, begins, within = ("|".join(words.split()) for words in (whole, beginnings, anywhere))
    return re.compile(rf"(?:^|[#._-])(?:(?:{of_name})(?![a-z])|{begins})|{within}")


_AROUND: Final = _words(
    "ads? tags? meta edit also feeds? follow rss jump next prev user rules bar stats? source anchor reply actions? "
    "print votes? ratings?",
    "nav menu crumb foot toc pager pagin paging share sharing social cookie consent skip search login signin signup "
    "register account similar advert promo banner masthead previous modal popup overlay cart basket wishlist compare "
    "filter facet sort sorting toolbar catlinks lang locale dropdown upsell sr-only visually widget newsletter "
    "subscri counter byline author avatar profile signature permalink source-?link quote-?link bread top-?bar utility "
    "following edit-?link",
    "sidebar navigation footer breadcrumb copyright pagination related recommend comment disqus respond newsletter "
    "screen-?reader headerlink editsection navbar",
)
_CONTENT: Final = _words(
    "lead name",
    "content main article entry post body text single story doc desc title topic message summary detail price product "
    "recipe ingredient chapter section intro teaser heading headline spec attribute feature faq event abstract "
    "paragraph prose markdown rich",
    "content article",
)


def hyphened(name: str) -> str:
    """Return a name in lower case, with a hyphen between its words: `mainMenu` is `main-menu`."""
    return _CAMEL.sub("-", name).lower()


def around_words(name: str) -> frozenset[str]:
    """Return the words in a class or id by which people call what surrounds content."""
    return _words_in(_AROUND, name)


def content_words(name: str) -> frozenset[str]:
    """Return the words in a class or id by which people call content."""
    return _words_in(_CONTENT, name)


def _words_in(words: re.Pattern[str], name: str) -> frozenset[str]:
    return frozenset(found.lstrip("#._-") for found in words.findall(hyphened(name)))


class Called(NamedTuple):
    """By which words an element, and those that it stands in, are called as what surrounds content, and as content.

    Words, not elements: `card__meta` and all that its designer called after it say one thing.
    """

    around: float = 0.0
    """Whether it is itself."""
    content: float = 0.0
    arounds: frozenset[str] = frozenset()
    contents: frozenset[str] = frozenset()
    around_at: float = nan
    """How many steps above it the nearest is."""
    content_at: float = nan

    def figures(self) -> tuple[float, ...]:
        """Return what a row has of it."""
        return self.around, self.content, len(self.arounds), len(self.contents), self.around_at, self.content_at

    def below(self, step: "KnownStep") -> "Called":
        """Return the same of an element in this one."""
        return Called(
            float(bool(step.around)),
            float(bool(step.content)),
            self.arounds | step.around if step.around else self.arounds,
            self.contents | step.content if step.content else self.contents,
            0.0 if step.around else self.around_at + 1,
            0.0 if step.content else self.content_at + 1,
        )


class KnownStep(NamedTuple):
    """What the name of an element says."""

    tag: str
    tokens: frozenset[str]
    around: frozenset[str]
    content: frozenset[str]


@lru_cache(maxsize=8_192)
def known_step(step: str) -> KnownStep:
    """Return what a step of a path says."""
    tag, *names = parts_of(step)
    tokens = frozenset(token for name in names for token in tokens_of(name))
    around, content = (frozenset[str]().union(*map(words, names)) for words in (around_words, content_words))
    return KnownStep(tag, tokens, around, content)


def tokens_of(name: str) -> set[str]:
    """Return the words of a class or id, cut to their first letters; short ones and long ones say nothing."""
    words = _NO_LETTERS.split(hyphened(name[1:]))
    return {word[:_KEPT_CHARS] for word in words if len(word) in _TOKEN_CHARS}
