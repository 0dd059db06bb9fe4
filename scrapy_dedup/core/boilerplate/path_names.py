"""Which ids and classes of a site's paths belong to its design, and which to single pages or sections."""

from collections import Counter
from collections.abc import Collection, Iterable


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

        Args:
            known: what was noted.
            path: no deeper than Python calls itself.
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
    """Return the ids and classes that at least two pages have, and at least this share of all.

    Sections and posts are called by what they are about (`section#installation`, `article.category-news`). Such a name
    would split what stands in one place of the design into as many paths as there are names, each too rare to judge.

    Args:
        pages: the paths of each page.
        share: of pages, 0 to 1.
    """
    of_pages = [names_in(paths) for paths in pages]
    counts = Counter(name for names in of_pages for name in names)
    needed = max(2, share * len(of_pages))
    return frozenset(name for name, count in counts.items() if count >= needed)
