import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.url_shapes import shape_of


@pytest.mark.parametrize(
    ("url", "path", "names"),
    [
        pytest.param("http://a/cal/2026/11", "/cal/#/#", (), id="numbers"),
        pytest.param("http://a/cal/2026-nov", "/cal/#-#", (), id="month"),
        pytest.param("http://a/p?b=1&a=2&a=3", "/p", ("a", "b"), id="names-once-in-order"),
        pytest.param("http://a/p?sid=4f2a9c01d3", "/p", (), id="session"),
        pytest.param("http://a/S-7F3A9C01B2/p", "/p", (), id="session-in-path"),
        pytest.param("http://a/20231104/p", "/@/p", (), id="number-is-no-session"),
        pytest.param("http://a/p/4f2a9c01d3", "/p/@", (), id="last-step-stays"),
        pytest.param("http://a/shop/color-red/size-m", "/shop", ("/color", "/size"), id="filters-in-path"),
        pytest.param("http://a/", "/", (), id="root"),
    ],
)
def test_url_has_a_shape(url: str, path: str, names: tuple[str, ...]) -> None:
    shape = shape_of(url)

    assert shape is not None
    assert (shape.host, shape.path, shape.names, shape.repeats) == ("a", path, names, False)


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
