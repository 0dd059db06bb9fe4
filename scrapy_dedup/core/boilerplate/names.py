"""How people and tools call the parts of a page: evidence for a model that weighs it, never a verdict.

Words of no site and no generator in particular: those of HTML itself, ARIA, and of the class names that appear in the
markup of many independent designs.
"""

import re
from typing import Final

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
