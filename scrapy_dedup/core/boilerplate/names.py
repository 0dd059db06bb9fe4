"""How people and tools call the parts of a page: evidence for a model that weighs it, never a verdict.

Words of no site and no generator in particular: those of HTML itself, ARIA, and of the class names that appear in the
markup of many independent designs.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple


class Folding:
    """Paths with only those ids and classes that belong to the design; knows each path once."""

    def __init__(self, names: Collection[str]) -> None:
        self.names = frozenset(names)
        """With their "#" or "."."""
        self._steps: dict[str, str] = {}

    def path(self, path: str) -> str:
        """Return the path without what single pages call their elements."""
        return ">".join(map(self.step, path.split(">")))

    def path_among(self, known: dict[str, str], path: str) -> str:
        """Return the same, and note it of the path and of all above it; paths of some pages share most of their steps.

        No path may be deeper than Python calls itself.
        """
        found = known.get(path)
        if found is None:
            above, divides, step = path.rpartition(">")
            found = self.step(step)
            if divides:
                found = f"{self.path_among(known, above)}>{found}"
            known[path] = found
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

_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


def _words(beginnings: str, anywhere: str) -> re.Pattern[str]:
    """Words that a word of a name begins with, and longer ones that may stand anywhere in it."""
    either = "|".join(beginnings.split()), "|".join(anywhere.split())
    return re.compile(rf"(?:^|[#._-])(?:{either[0]})|{either[1]}")


_AROUND: Final = _words(
    "nav menu crumb foot toc pager pagin paging share sharing social cookie consent skip search login signin signup "
    "register account similar advert ads? promo banner masthead prev next tags? meta modal popup overlay cart basket "
    "wishlist compare filter facet sort sorting toolbar actions? edit print catlinks lang locale dropdown upsell also "
    "sr-only visually widget newsletter subscri follow feed rss ratings? votes? counter stats? byline author avatar "
    "profile signature user permalink anchor source-?link jump reply quote-?link rules bread top-?bar utility",
    "sidebar navigation footer breadcrumb copyright pagination related recommend comment disqus respond newsletter "
    "screen-?reader headerlink editsection navbar",
)
_CONTENT: Final = _words(
    "content main article entry post body text desc title topic message story single summary details? price product "
    "recipe ingredient chapter section doc docs lead intro teaser heading headline name spec attribute feature faq "
    "event abstract paragraph prose markdown rich",
    "content article",
)


def hyphened(name: str) -> str:
    """Return a name in lower case, with a hyphen between its words: `mainMenu` is `main-menu`."""
    return _CAMEL.sub("-", name).lower()


def is_around(name: str) -> bool:
    """Whether a class or id is one by which people call what surrounds content."""
    return bool(_AROUND.search(hyphened(name)))


def is_content(name: str) -> bool:
    """Whether a class or id is one by which people call content."""
    return bool(_CONTENT.search(hyphened(name)))
