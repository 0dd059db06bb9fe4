"""A picture with boxes, read back with a parser of XML."""

from itertools import combinations
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from msgspec import to_builtins
from selectolax.lexbor import LexborHTMLParser

from scrapy_dedup.core.templates.templates import Vision
from scrapy_dedup.report.drawing import layout_svg, render_report
from scrapy_dedup.report.layout_picture import MOST_BOXES, Strip, size_of
from scrapy_dedup.report.values import BoxKind, PictureBox, boxes_from
from tests.browser import Scheme, opened, shared_chromium
from tests.report.builders import a_layout, a_report, a_site, a_template
from tests.report.hostile import ALL, HOSTILE
from tests.report.pictures import HEIGHT, WIDTH, a_box, a_picture, boxes

SVG = "{http://www.w3.org/2000/svg}"


def read(svg: str) -> ET.Element:
    return ET.fromstring(svg)


def drawn(root: ET.Element) -> list[ET.Element]:
    return [each for each in root.iter(f"{SVG}rect") if each.get("data-number")]


def labels(root: ET.Element) -> list[ET.Element]:
    return [each for each in root.iter(f"{SVG}text") if each.get("textLength")]


def numbers_of(element: ET.Element, *names: str) -> tuple[int, ...]:
    return tuple(int(element.get(name, "0")) for name in names)


def test_every_box_is_drawn_where_it_is_with_its_number_and_its_reason():
    root = read(layout_svg(a_picture()))

    found = {each.get("data-number"): each for each in drawn(root)}
    assert found.keys() == {str(box.number) for box in boxes()}
    for box in boxes():
        one = found[str(box.number)]
        x, y, width, height = numbers_of(one, "x", "y", "width", "height")
        assert box.x - 2 <= x < box.x
        assert box.y - 2 <= y < box.y
        assert (2 * x + width, 2 * y + height) == (2 * box.x + box.width, 2 * box.y + box.height)
        assert (one.findtext(f"{SVG}title") or "") == box.label


def strips(root: ET.Element) -> list[Strip]:
    return [Strip(*numbers_of(each, "x", "y", "textLength")) for each in labels(root)]


some_boxes = st.builds(
    PictureBox,
    number=st.integers(0, 20_000),
    x=st.integers(0, WIDTH),
    y=st.integers(0, HEIGHT),
    width=st.integers(0, WIDTH),
    height=st.integers(0, HEIGHT),
    kind=st.sampled_from(BoxKind),
    label=st.text(max_size=120),
    is_clear=st.booleans(),
)


@settings(max_examples=40, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(st.lists(some_boxes, max_size=40))
def test_labels_never_lie_over_each_other_nor_leave_the_drawing(some):
    picture = a_picture(boxes=tuple(some), png=b"")
    root = read(layout_svg(picture))

    found = strips(root)
    meeting = sum(one.meets(other) for one, other in combinations(found, 2))
    width, _ = size_of(picture.width, picture.height)
    outside = [strip for strip in found if strip.x < 0 or strip.x + strip.width > width]
    assert (meeting, outside) == (0, [])


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=300), st.text(max_size=100))
def test_any_label_and_any_url_make_a_file_that_parses(label, url):
    assert len(drawn(read(layout_svg(a_picture(url=url, png=b"", boxes=(a_box(label=label),)))))) == 1


def test_nothing_that_a_page_says_becomes_a_part_of_the_drawing():
    root = read(layout_svg(a_picture(url=ALL, boxes=(a_box(label=ALL + "\ufffe\uffff"),))))

    names = {each.tag.removeprefix(SVG) for each in root.iter()}
    assert names <= {"svg", "defs", "pattern", "g", "path", "rect", "image", "text", "title"}
    assert not any(name.startswith("on") for each in root.iter() for name in each.attrib)
    assert (drawn(root)[0].findtext(f"{SVG}title") or "").startswith(HOSTILE[:60])


def test_a_drawing_is_bounded():
    many = tuple(a_box(number=number, y=number % HEIGHT, label="x" * 5_000) for number in range(3_000))

    svg = layout_svg(a_picture(boxes=many, png=b""))

    assert len(drawn(read(svg))) == MOST_BOXES
    assert len(svg) < 400_000


class TestBoxesAsTheyAreStored:
    @settings(max_examples=40, deadline=None)
    @given(some_boxes)
    def test_they_come_back(self, box):
        assert boxes_from([to_builtins(box)]) == (box,)

    @pytest.mark.parametrize(
        "stored",
        [
            pytest.param({}, id="empty"),
            pytest.param({**to_builtins(a_box()), "kind": "advert"}, id="unknown-kind"),
            pytest.param({**to_builtins(a_box()), "x": None}, id="no-number"),
        ],
    )
    def test_what_is_none_is_passed_over(self, stored):
        assert boxes_from([stored, to_builtins(a_box())]) == (a_box(),)


def a_pictured_report(**other: Any) -> str:
    template = a_template(vision=Vision(2, 0.031, needs_rendering=True, agreement=0.934))
    return render_report(a_report(layouts=(a_site(a_layout(picture=a_picture(**other), template=template)),)))


class TestInTheReport:
    def test_one_for_which_there_is_no_room_is_named(self):
        told = LexborHTMLParser(render_report(a_report(layouts=(a_site(a_layout(left_out="https://a.example/x")),))))

        assert "scrapy dedup templates analyze-layout https://a.example/x" in " ".join(
            told.css(".layout")[0].text().split()
        )

    @pytest.mark.browser
    def test_it_fits_opens_by_keyboard_and_asks_for_nothing(self, tmp_path):
        file = tmp_path / "report.html"
        file.write_text(a_pictured_report(boxes=(*boxes(), a_box(label=ALL, y=700))), encoding="utf-8")
        looks: tuple[tuple[int, Scheme], ...] = ((1280, "light"), (390, "dark"))

        with shared_chromium() as browser:
            for width, scheme in looks:
                with opened(browser, file.as_uri(), width=width, scheme=scheme) as shown:
                    drawing = shown.page.locator(".picture svg").first
                    small = drawing.bounding_box()
                    shown.page.locator(".picture summary").focus()
                    shown.page.keyboard.press("Enter")
                    large = drawing.bounding_box()

                    assert small
                    assert large
                    assert small["width"] <= 260 < large["width"]
                    assert large["height"] > 2 * small["height"]
                    assert (shown.overhang, shown.requests_elsewhere, shown.complaints) == (0, [], [])
                    assert shown.page.evaluate("window.hacked") is None
