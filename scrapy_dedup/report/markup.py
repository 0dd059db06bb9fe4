"""Foreign text as people may see it: nothing in it hides, or reorders what they see."""

import re
from typing import Final
from urllib.parse import urlsplit

# What a reader cannot see or what changes the order of what he sees: controls
# without tab and line feed, bidi controls, zero width characters (not the
# joiners, which Persian and emoji need), invisible tag characters, and lone
# surrogates, which no encoding can write.
_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
ELLIPSIS: Final = "…"
LONGEST_LINK: Final = 2000  # what every browser and server takes


def told(text: str) -> str:
    """Return a text with unseen characters written as ⟨U+202E⟩."""
    return _UNSEEN.sub(lambda found: f"⟨U+{ord(found.group()):04X}⟩", text)


def visible(text: str, limit: int) -> str:
    """Return at most `limit` characters of a text, with unseen characters written as ⟨U+202E⟩."""
    cut = text if len(text) <= limit else text[: limit - 1] + ELLIPSIS
    return told(cut.replace("\r\n", "\n"))


def is_web(url: str) -> bool:
    """Whether a URL is one of the web, as everybody can see."""
    if len(url) > LONGEST_LINK or _UNSEEN.search(url):
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)
