"""How people and tools call the parts of a page that are not its content: tags, classes and ids.

Words of no site and no generator in particular: those of HTML itself, ARIA, and of the class names that appear in the
markup of many independent designs. A name alone decides only where it can mean nothing else.
"""

import re
from typing import Final

from scrapy_dedup.core.path_names import parts_of

# Elements that HTML made for what surrounds the content.
NAVIGATION_TAGS: Final = frozenset(["nav", "footer", "aside"])


def _words(*words: str) -> re.Pattern[str]:
    """Whole words of a name: `main-menu` and `menu_left` hold "menu", `menuetto` does not."""
    return re.compile(rf"(?:^|[.#_-])(?:{'|'.join(words)})(?:$|[._-])", re.IGNORECASE)


# Ways through a site, and text for screen readers only.
_NAVIGATION: Final = _words(
    r"nav\w*", "menu", "breadcrumbs?", "crumbs?", "pagination", "pager", "sidebar", "footer", "visually-hidden",
    "screen-reader-text", "sr-only",
)  # fmt: skip
# What surrounds content or belongs to it: dropped only with evidence of repetition or links.
_SURROUNDINGS: Final = _words(
    "foot", "copyright", "related", "share", "sharing", "social", "sharedaddy", "respond", "cookie", "newsletter",
    "subscribe", "widget-area", r"widget_\w+", "toc", "skip", "search", "login", "similar", r"recommend\w*",
    r"advert\w*", "promo", "banner", "masthead", "prevnext", "comments?", "tags?", "editsection", "headerlink",
    "printfooter", "catlinks",
)  # fmt: skip
# What readers wrote below a page. `deprecation-comment` is none: the word stands at the beginning.
_COMMENTS: Final = re.compile(r"[.#](?:dsq-)?comments?(?:$|[.#_-])|disqus", re.IGNORECASE)


def is_navigation(step: str) -> bool:
    """Whether a path's step says by class or id that it leads elsewhere."""
    return any(_NAVIGATION.search(name) for name in parts_of(step)[1:])


def is_surroundings(step: str) -> bool:
    """Whether a path's step says by class or id that it may be no content."""
    return any(_SURROUNDINGS.search(name) for name in parts_of(step)[1:])


def is_comments(step: str) -> bool:
    """Whether a path's step says by class or id that it holds what readers wrote."""
    return any(_COMMENTS.search(name) for name in parts_of(step)[1:])
