"""From a page that a browser showed and a cut of it to boxes on its picture."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import to_builtins
from msgspec.structs import replace

from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.core.teacher import Box, Flag, NumberedPage, SeenElement, Snapshot, TextRun, numbered
from scrapy_dedup.report.values import BoxKind, PictureBox
from scrapy_dedup.service.cut.site_cleaning import cut_page
from scrapy_dedup.service.report.overview import PICTURE_BYTES, PICTURES, shown_layouts
from scrapy_dedup.service.teacher.layout_picture import boxes_of, reasons_of
from scrapy_dedup.service.templates.site_knowledge import SiteKnowledge, learn_site
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.domains.layouts import StoredPicture
from scrapy_dedup.store.writer import ProjectStore
from tests.core.builders import parsed
from tests.service.learned_site import put_site
from tests.service.site_pages import DOMAIN, article, page_of, pages, url_of
from tests.service.stored_pages import DOMAIN as STORED_DOMAIN
from tests.service.stored_pages import NOON

LINE = 20
WIDTH = 1366
SETTINGS = Settings()


@pytest.fixture(scope="module")
def knowledge() -> SiteKnowledge:
    return learn_site(DOMAIN, pages(20, 12), SETTINGS)


def around(given: NumberedPage, number: int) -> Iterator[int]:
    while number >= 0:
        yield number
        number = given.parents[number]


def a_snapshot(given: NumberedPage, page: Page, flags: dict[int, int] | None = None) -> Snapshot:
    """Return how a page looks whose blocks stand one below the other, 20 pixels each; flags by number of element."""
    flags = flags or {}
    tops: dict[int, list[int]] = {}
    runs = []
    for place, (number, block) in enumerate(zip(given.of_blocks, page.blocks, strict=True)):
        box = Box(100, 200 + 2 * LINE * place, 600, LINE)
        runs.append(TextRun(number, box, flags.get(number, 0), 16.0, len(block.text)))
        for above in around(given, number):
            tops.setdefault(above, []).append(box.y)
    elements = {
        number: SeenElement(number, Box(100, min(at), 600, max(at) + LINE - min(at)), flags.get(number, 0), 16.0)
        for number, at in tops.items()
    }
    return Snapshot(WIDTH, 300 + 2 * LINE * len(page.blocks), elements, tuple(runs))


def drawn(html: str, url: str, site: SiteKnowledge | None, **other: Any) -> tuple[NumberedPage, tuple[PictureBox, ...]]:
    page = page_of(html)
    given = numbered(html, page)
    assert given is not None
    snapshot = other.pop("snapshot", None) or a_snapshot(given, page, other.pop("flags", None))
    found = replace(cut_page(html, page, url, site, SETTINGS), **other)
    return given, boxes_of(page, given, snapshot, found, height=4_000)


def test_a_page_of_many_blocks_has_few_boxes_each_of_an_element_that_was_sent(knowledge):
    given, boxes = drawn(article(3), url_of("a", 3), knowledge)

    assert 3 <= len(boxes) < 15
    assert all(0 <= box.number < len(given.tags) for box in boxes)
    tags = {box.kind: given.tags[box.number] for box in boxes if box.kind is BoxKind.CONTENT}
    assert tags == {BoxKind.CONTENT: "article"}


PROSE = "Rope is made of yarns that are twisted into strands, and these into one another. " * 4

FIXED = (
    '<html><body><main><p>{}</p></main><div id="cookie-bar" class="cookie-consent"><button>OK</button>'
    "<p>We use <a href=/c>cookies</a>.</p></div></body></html>"
)


def number_of(html: str, text: str) -> int:
    page = page_of(html)
    given = numbered(html, page)
    return next(n for n, block in zip(given.of_blocks, page.blocks, strict=True) if text in block.text)


@pytest.mark.parametrize(
    ("flag", "text", "kind", "label"),
    [
        pytest.param(Flag.FIXED, "cookies", BoxKind.OVERLAY, "", id="bar"),
        pytest.param(Flag.SAME_COLOUR, "Rope", BoxKind.UNSEEN, "of the colour of its ground", id="white-on-white"),
        pytest.param(Flag.NO_SIZE | Flag.CLIPPED, "Rope", BoxKind.UNSEEN, "clipped, of no size", id="two-ways"),
    ],
)
def test_what_lies_over_the_page_and_what_nobody_sees_is_told(flag, text, kind, label):
    html = FIXED.format(PROSE)
    page = page_of(html)
    given = numbered(html, page)
    assert given is not None
    found = cut_page(html, page, "https://shop.example/x", None, SETTINGS)
    assert [reason is None for reason in reasons_of(page, found)] == [True, False]

    boxes = boxes_of(page, given, a_snapshot(given, page, {number_of(html, text): int(flag)}), found, height=4_000)

    assert label in next(box for box in boxes if box.kind is kind).label


def test_boxes_end_where_the_picture_ends(knowledge):
    html, url = article(3), url_of("a", 3)
    page = page_of(html)
    given = numbered(html, page)
    assert given is not None

    boxes = boxes_of(page, given, a_snapshot(given, page), cut_page(html, page, url, knowledge, SETTINGS), height=330)

    assert boxes
    assert all(box.y + box.height <= 330 and box.x + box.width <= WIDTH for box in boxes)


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="<>/ abdivpulin=\"'!-", max_size=400), st.integers(0, 3_000))
def test_no_page_whatever_it_is_raises(source, height):
    page = parsed(f"<body>{source}<p>End</p>")
    given = numbered(f"<body>{source}<p>End</p>", page)
    if given is None:
        return
    found = cut_page(source, page, "https://shop.example/x", None, SETTINGS)

    for snapshot in (Snapshot(WIDTH, 0), a_snapshot(given, page)):
        boxes = boxes_of(page, given, snapshot, found, height=height)
        assert all(0 <= box.number < len(given.tags) for box in boxes)


class TestPicturesOfAReport:
    def put(self, project: ProjectStore, sizes: dict[int, int]) -> None:
        for layout, size in sizes.items():
            boxes = [to_builtins(PictureBox(1, 0, 0, 9, 9, BoxKind.CONTENT, "content")), {"kind": "from elsewhere"}]
            url = f"https://{STORED_DOMAIN}/{layout}"
            project.put_picture(StoredPicture(STORED_DOMAIN, layout, url, NOON, 10, 10, boxes, b"x" * size))

    def test_they_stand_with_their_layouts(self, project):
        layouts = put_site(project)
        self.put(project, {layouts["article"]: 9})

        found = {each.kind: each for each in shown_layouts(project)[0].layouts}

        picture = found["article"].picture
        assert (picture.png, len(picture.boxes)) == (b"x" * 9, 1)
        assert found["listing"].picture is None

    def test_together_they_have_so_much_room(self, project):
        layouts = put_site(project)
        self.put(project, {layouts["article"]: PICTURE_BYTES, layouts["listing"]: 1})

        found = {each.kind: each for each in shown_layouts(project)[0].layouts}

        assert sum(each.picture is not None for each in found.values()) == 1
        assert sorted(bool(each.left_out) for each in found.values()).count(True) == 1
        assert PICTURES >= 1
