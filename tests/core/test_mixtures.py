from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.mixtures import Mixtures
from tests.tables import table

SITE = "http://a.example"


def met(*paths: str) -> Mixtures:
    mixtures = Mixtures()
    for path in paths:
        mixtures.meet(SITE + path)
    return mixtures


@table("urls/mixtures")
def test_path_is_mixed_where_its_steps_stand_elsewhere_too(path: str, *, is_mixed: bool) -> None:
    mixtures = met("/shop/red/", "/shop/wood/", "/tag/x/", "/tag/y/", "/docs/v1/open", "/docs/v2/close", "/2026/22/11")

    assert mixtures.is_mixed(SITE + path) is is_mixed


def test_mixtures_of_a_section_are_one_kind() -> None:
    mixtures = Mixtures()

    assert mixtures.as_parameters(f"{SITE}/shop/red/wood/?a=1") == f"{SITE}/shop?(steps)=mixed&a=1"
    assert mixtures.as_parameters(f"{SITE}/shop/wood/red/") == f"{SITE}/shop?(steps)=mixed"


def test_no_more_is_remembered_than_the_most() -> None:
    mixtures = Mixtures(most=1)
    for path in ("/shop/red/", "/shop/wood/", "/shop/red/wood/"):
        mixtures.meet(SITE + path)

    assert not mixtures.is_mixed(f"{SITE}/shop/red/wood/")


@given(st.text())
def test_any_path_is_judged(path: str) -> None:
    assert met(f"/{path}", f"/shop/{path}").is_mixed(f"{SITE}/shop/{path}") in (True, False)


def test_step_in_several_places_is_mixed_in_each() -> None:
    mixtures = met("/shop/red/", "/shop/wood/", "/shop/red/wood/")

    assert mixtures.is_mixed(f"{SITE}/shop/red/wood/")
