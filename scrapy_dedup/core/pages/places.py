"""Where an element of a page stands: its DOM path, and whether and as what it is drawn."""

from scrapy_dedup.core.pages.fingerprints import PathFingerprints
from scrapy_dedup.core.pages.tags import LONG_TAG, Role, Tag, Token, known_tag, read_tag

# Structure is drawn to this depth, and a little deeper within what began above it: converters recurse, and each level
# indents every line.
DRAWN_DEPTH = 40
_CONTAINERS = frozenset("ul ol dl table blockquote figure details".split())
_PARTS_DEEPER = 8
_CUT = 1_000
# Markdown writes these on one line.
_LINES = frozenset("h1 h2 h3 h4 h5 h6 dt summary caption figcaption".split())
# Where one of these stands a text begins, and what is around it is the author's, no more the design's.
_PROSE = frozenset("p h2 h3 h4 h5 h6 pre blockquote dl figure".split())
# How many containers deep a skeleton goes; 4 to 8 give the same layouts.
_SKELETON_DEPTH = 6
# Longer paths end in the step where they grew too long, else 5,000 nested elements make 5,000 paths of 5,000 steps.
PATH_CHARS = 4_000


class Place:
    """Where an open element stands. Elements of one kind in one place are alike, on all pages of a site."""

    __slots__ = (
        "after",
        "depth",
        "end",
        "fingerprints",
        "in_heading",
        "in_line",
        "in_pre",
        "is_prose",
        "language",
        "mark",
        "outer",
        "path",
        "source",
        "start",
        "tags",
    )

    def __init__(self, path: str) -> None:
        self.path = path
        self.source = ""
        """The element's start tag without angle brackets."""
        self.outer: Place | None = None
        self.after: dict[str, Place] = {}
        """Which place a tag leads to, for the tags met so far; those of inline elements lead nowhere."""
        self.is_prose = False
        self.tags = ""
        """Of a container: the tags from body to it, as `body/div/nav`; else empty."""
        self.mark = ""
        """The same with its own classes, as `body/div/nav.menu`."""
        self.fingerprints = PathFingerprints(path)
        self.depth = 0
        self.in_heading = False
        self.in_line = False
        self.in_pre = False
        self.language = ""
        self.start: Tag | None = None
        """As it is drawn; None for an element that is only a boundary."""
        self.end: Tag | None = None

    def past(self, tag: str) -> "Place | None":
        """Return the place behind a tag, given without angle brackets; None where the tag is no boundary of blocks."""
        if ">" in tag:
            # An element whose text is literal is one tag with it.
            return None
        token = known_tag(tag) if len(tag) < LONG_TAG else read_tag(tag)
        if token.role is Role.BLOCK:
            place = self.child(token)
            place.source = tag
        elif token.role is Role.BLOCK_END:
            # End tags need not match start tags: foreign elements can hold text that is read as tags.
            place = self.outer or self
        elif token.role is Role.VOID:
            place = self
        else:
            return None
        if len(tag) < LONG_TAG:
            _known.append(self)
            # Where two threads read pages of one site, the first has made it: a page has each place once.
            return self.after.setdefault(tag, place)
        return place

    def child(self, token: Token) -> "Place":
        """Return the place of an element in this one."""
        _, tag, step, drawn, heading, language, label = token
        place = Place(f"{self.path}>{step}" if len(self.path) < PATH_CHARS else self.path)
        place.in_heading = self.in_heading or heading
        place.in_pre = self.in_pre
        place.language = language or self.language
        place.depth = self.depth
        place.in_line = self.in_line
        place.outer = self
        place.is_prose = tag.name in _PROSE
        if label and self.tags and self.tags.count("/") < _SKELETON_DEPTH:
            place.tags = f"{self.tags}/{tag.name}"
            place.mark = f"{self.tags}/{label}"
        if drawn and not self.in_line:
            place._draw(tag)
        return place

    def _draw(self, tag: Tag) -> None:
        name = tag.name
        if self.depth >= (DRAWN_DEPTH if name in _CONTAINERS else DRAWN_DEPTH + _PARTS_DEEPER):
            self.depth = _CUT
            return
        if name == "pre":
            if self.in_pre:
                # A fenced block holds no other.
                return
            self.in_pre = True
            if self.language:
                tag = Tag("pre", (("class", f"language-{self.language}"),))
        self.depth += 1
        self.in_line = name in _LINES
        self.start = tag
        self.end = Tag(name, (), closing=True)


BODY = Place("body")
BODY.tags = "body"

# So many steps from place to place are known from page to page; a site needs some hundreds.
_MOST_KNOWN = 16_384
_known: list[Place] = []


def forget_many() -> None:
    """Forget all places, where they have become many; only between pages, for one page has each place once."""
    if len(_known) > _MOST_KNOWN:
        for place in _known:
            place.after.clear()
        _known.clear()
