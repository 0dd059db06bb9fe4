"""One step of a DOM path: what stays the same from page to page about an element."""

import re
from functools import lru_cache

_DIGITS = re.compile(r"\d+")
# Classes that change from page to page, or with the state of a page: made by build tools (css-1x2y3z, sc-aBcD), states,
# positions, and numbers of single posts and menu items.
_VOLATILE = re.compile(
    r"^(?:css|sc|jsx|svelte|emotion|styles?)-[0-9a-zA-Z]+$"
    r"|^[a-zA-Z]*[0-9][0-9a-zA-Z]{4,}$"
    r"|^(?:is|has|js)-"
    r"|^(?:active|current|selected|open|hover|visible|odd|even|first|last)$"
    r"|^(?:post|postid|page|page-id|page-item|menu-item|category|tag|node)-\d"
)
_MOST_CLASSES = 4
_LONGEST_NAME = 60


@lru_cache(maxsize=16_384)
def element_key(tag: str, classes: str, element_id: str) -> str:
    """Return `tag#id.class.class` with what is volatile left out.

    Ids with digits are left out, digits in classes become 0; at most four classes, sorted.
    """
    key = tag
    if element_id and len(element_id) <= _LONGEST_NAME and not _DIGITS.search(element_id):
        key += f"#{_one_word(element_id)}"
    stable = sorted(
        {
            _DIGITS.sub("0", name)
            for name in classes.split()[:20]
            if len(name) <= _LONGEST_NAME and not _VOLATILE.search(name)
        }
    )
    for name in stable[:_MOST_CLASSES]:
        key += f".{name}"
    return key


def _one_word(name: str) -> str:
    """Return an id without white space, so that a path stays one word a step."""
    return "_".join(name.split())
