"""Text as HTML: nothing that a page says can act, hide or reorder the report."""

import re
from collections.abc import Iterable
from html import escape
from typing import NewType
from urllib.parse import urlsplit

Html = NewType("Html", str)  # a str that was made for an HTML document; the type checker keeps the two apart

# What a reader cannot see or what changes the order of what he sees: controls
# without tab and line feed, bidi controls, zero width characters (not the
# joiners, which Persian and emoji need), invisible tag characters, and lone
# surrogates, which no encoding can write.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
ELLIPSIS = "…"
LONGEST_LINK = 2000  # what every browser and server takes


def visible(text: str, limit: int) -> str:
    """Return at most `limit` characters of a text, with unseen characters written as ⟨U+202E⟩."""
    cut = text if len(text) <= limit else text[: limit - 1] + ELLIPSIS
    return _UNSEEN.sub(lambda found: f"⟨U+{ord(found.group()):04X}⟩", cut.replace("\r\n", "\n"))


def isolated(text: str, limit: int = 300) -> Html:
    """Return foreign text as an element of its own, whose direction cannot leak into its surroundings."""
    return Html(f"<bdi>{escape(visible(text, limit))}</bdi>")


def attribute(text: str, limit: int = 300) -> Html:
    """Return foreign text for use between the double quotes of an attribute."""
    return Html(escape(visible(" ".join(text[: 4 * limit].split()), limit)))


def page_link(url: str, *, limit: int = 200) -> Html:
    """Return a link to a page that does not tell the page where the reader came from.

    Only http and https URLs become links; whatever else a page calls its URL
    (javascript:, data:, a broken, disguised or endless one) is shown as text.
    """
    if not _is_web(url):
        return isolated(url, limit)
    return Html(f'<a href="{escape(url)}" rel="noopener noreferrer">{isolated(url, limit)}</a>')


def _is_web(url: str) -> bool:
    if len(url) > LONGEST_LINK or _UNSEEN.search(url):
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)


def joined(parts: Iterable[Html]) -> Html:
    """Return pieces of HTML, one a line."""
    return Html("\n".join(parts))
