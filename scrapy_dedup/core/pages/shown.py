"""What a text shows that is no word of it: pictures, files to fetch, addresses to write to, and what is struck out."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from scrapy_dedup.core.pages.blocks import Block, Page
from scrapy_dedup.core.pages.tags import BODY, Place, Tag, plain

EXTENSIONS: Final = (
    "pdf|docx?|xlsx?|pptx?|od[tsp]|rtf|epub|csv|tsv|zip|rar|7z|t?gz|bz2|xz|tar|exe|msi|dmg|apk|deb|rpm|iso"
    "|mp3|m4a|ogg|wav|flac|mp4|webm|avi|mov|mkv|ics|torrent"
)
"""Of files. A link to a page is another matter: pages link to themselves, their neighbours and to what shares them."""
FILE: Final = re.compile(rf"\.(?:{EXTENSIONS})\Z", re.IGNORECASE)
PICTURE: Final = re.compile(r"\.(?:avif|gif|jpe?g|png|svg|webp)\Z", re.IGNORECASE)
_ADDRESS_STARTS: Final = ("mailto:", "tel:", "sms:")
_STRUCK_OUT: Final = frozenset({"del", "s"})
_SHOWN: Final = re.compile("<(?:img|del|s)[ >]")
_LINKED_FILE: Final = re.compile(rf'\.(?:{EXTENSIONS})[?#"]')


def shown_in(block: Block) -> Iterable[str]:
    """Return what a block shows, as Markdown would have it, whichever host or copy it comes from."""
    source = block.unread
    return () if source is not None and not _may_show(source) else _shown_by(block.pieces)


def _shown_by(pieces: Iterable[str | Tag]) -> Iterator[str]:
    struck: list[str] | None = None
    for piece in pieces:
        if isinstance(piece, str):
            if struck is not None:
                struck.append(plain(piece))
        elif piece.name == "img":
            yield from picture(piece)
        elif piece.name == "a":
            yield from _target(piece)
        elif piece.name in _STRUCK_OUT:
            if struck is not None:
                yield f"~~{' '.join(''.join(struck).split())}~~"
            struck = None if piece.closing else []


def all_shown(page: Page) -> Iterator[tuple[str, str]]:
    """Yield path and form of all that a page shows beside its words."""
    here = BODY
    for step in page.walk.steps:
        if isinstance(step, Place):
            here = step
        elif isinstance(step, Tag):
            yield from ((here.path, text) for text in picture(step))
        else:
            block = page.blocks[step]
            for text in shown_in(block):
                yield block.path, text


def _may_show(source: str) -> bool:
    """Tell for most texts that they show nothing, before they are read tag by tag."""
    if "<" not in source:
        return False
    if _SHOWN.search(source) is not None:
        return True
    # In lower case: a search without regard to case takes ten times as long.
    source = source.lower()
    is_link = 'href="' in source
    return is_link and (
        "mailto:" in source or "tel:" in source or "sms:" in source or _LINKED_FILE.search(source) is not None
    )


def picture(tag: Tag) -> Sequence[str]:
    """Return what a picture shows; none where neither its name nor a description says that it is more than a pixel."""
    attributes = dict(tag.attributes)
    name, described = named(attributes.get("src", "")), " ".join(attributes.get("alt", "").split())
    return [f"![{described}]({name})"] if described or PICTURE.search(name) else []


def named(address: str) -> str:
    """Return folder and name of a picture or file, whichever host has it, or an address that names neither, whole.

    What follows a name is mostly when the file was made, or who asks for it.
    """
    path, _, query = address.strip().partition("#")[0].partition("?")
    host, divides, rest = path.partition("//")
    if divides and (not host or host.endswith(":")):
        path = rest.partition("/")[2]
    if query and not (FILE.search(path) or PICTURE.search(path)):
        return f"{path}?{query}"
    return "/".join([part for part in path.split("/") if part not in ("", ".", "..")][-2:])


def _target(tag: Tag) -> Iterator[str]:
    for _, address in tag.attributes:
        if address.strip().lower().startswith(_ADDRESS_STARTS):
            yield f"<{address.partition('?')[0].strip()}>"
        elif FILE.search(address.partition("#")[0].partition("?")[0]):
            yield f"<{named(address)}>"
