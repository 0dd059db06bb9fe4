import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.urls.pagination import shape_of
from tests.tables import table


@table("core/url_has_a_shape")
def test_url_has_a_shape(url: str, path: str, names: list[str]) -> None:
    shape = shape_of(url)

    assert shape is not None
    assert (shape.host, shape.path, list(shape.names), shape.repeats) == ("a", path, names, False)


@pytest.mark.parametrize("path", ["/a/a/a", "/a/b/a/b/a", "/x/y/x/y", "/" + "/".join(map(str, range(60)))])
def test_path_that_comes_again_is_one_shape(path: str) -> None:
    shape = shape_of(f"http://a:81{path}")

    assert shape is not None
    assert shape.repeats
    assert shape.host == "a:81"


def test_folders_are_told() -> None:
    shape = shape_of("http://a/one/2/three/four/five")

    assert shape is not None
    assert shape.prefixes == ("/one/", "/one/#/", "/one/#/three/")
    assert shape.section == "one"


@given(st.text())
def test_any_text_is_taken(text: str) -> None:
    shape_of(text)
    assert shape_of(f"http://a/{text}") is None or shape_of(f"http://a/{text}").path.startswith("/")  # type: ignore[union-attr]
