import json

import pytest

from scrapy_dedup.core.blocks import Page
from scrapy_dedup.core.path_looks import PathLooks
from scrapy_dedup.core.path_names import Folding
from scrapy_dedup.core.vision import SeenPage
from scrapy_dedup.core.vision_voices import Sighted, Vision, agreements, confidence_of, vision_of
from tests.core.builders import parsed

PARSED = parsed("<div class=a><p>aaaa</p><p>bb</p></div><div class=b><p>cccc</p></div><div class=c>dd</div>")
PAGE: Page = PARSED
LOOKS = {"body>div.a>p": PathLooks(10, 9, 0), "body>div.b>p": PathLooks(10, 1, 0), "body>div.c": PathLooks(0, 0, 5)}


def test_looks_of_some_pages_say_what_to_keep_of_another() -> None:
    assert Sighted([LOOKS], Folding([".a", ".b", ".c"])).keeps(PAGE) == [True, True, False, False]


def test_of_what_no_browser_showed_nothing_is_said() -> None:
    sighted = Sighted([{"body>div.a>p": PathLooks(10, 9, 0)}], Folding([".a", ".b", ".c"]))

    assert sighted.keeps(PAGE) == [True, True, None, None]


def test_witnesses_agree_in_characters() -> None:
    kept: dict[str, list[bool | None]] = {
        "one": [True, True, False, None],
        "two": [True, False, False, True],
        "three": [False, True, True, True],
    }

    assert agreements(PAGE, kept) == {"one, three": (2, 10), "one, two": (4, 6), "three, two": (2, 12)}


@pytest.mark.parametrize(
    ("voices", "presence", "coverage", "expected"),
    [
        pytest.param({}, 1, 1, 0, id="no-witness"),
        pytest.param({"a": 0.9}, 1, 1, 0.9, id="one-pair"),
        pytest.param({"a": 0.1, "b": 0.9, "c": 1.0}, 1, 1, 0.9, id="the-middle-of-three"),
        pytest.param({"a": 0.1, "b": 0.8, "c": 1.0, "d": 1.0}, 1, 1, 0.9, id="mean-of-the-two-in-the-middle"),
        pytest.param({"a": 1.0}, 0.5, 0.5, 0.25, id="half-known-half-seen"),
    ],
)
def test_confidence_is_agreement_on_what_is_known_and_was_seen(
    voices: dict[str, float], presence: float, coverage: float, expected: float
) -> None:
    assert confidence_of(voices, presence, coverage) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("pages", "needed"),
    [
        pytest.param([SeenPage(static_chars=20, js_share=0.9)], True, id="made-by-scripts"),
        pytest.param([SeenPage(static_chars=2_000, js_share=0.9)], False, id="text-is-there-without"),
        pytest.param([SeenPage(static_chars=20, js_share=0.1)], False, id="short-page"),
        pytest.param([SeenPage(js_share=0.9), SeenPage(js_share=0.2)], True, id="mean-of-two"),
    ],
)
def test_a_layout_needs_rendering_where_scripts_make_it_and_nothing_is_there_without(
    pages: list[SeenPage], *, needed: bool
) -> None:
    vision = vision_of(pages, {"a": 0.12345})

    assert vision.needs_rendering is needed
    assert vision.shown == len(pages)
    assert vision.voices == {"a": 0.123}


def test_what_a_browser_showed_is_read_as_it_was_stored() -> None:
    vision = Vision(2, 0.25, needs_rendering=False, unseen=3, voices={"extractor, vision": 0.9})

    assert Vision.from_json(json.loads(json.dumps(vision.to_json()))) == vision
    assert Vision.from_json(None) is None
