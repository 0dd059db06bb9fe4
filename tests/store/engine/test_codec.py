import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_dedup.store.engine.codec import Packer, column_text, unpack_json, unpack_text
from scrapy_dedup.store.engine.errors import DamagedError
from tests.tables import table

# Any code point, lone surrogates and NUL included.
ANY_TEXT = st.text(st.characters())
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | ANY_TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(ANY_TEXT, inner),
    max_leaves=20,
)


@settings(deadline=None)
@given(ANY_TEXT)
def test_any_text_survives_packing(text):
    assert unpack_text(Packer().text(text)) == text


@settings(deadline=None)
@given(PLAIN)
def test_any_plain_value_survives_packing(value):
    assert unpack_json(Packer().json(value)) == value


@settings(deadline=None)
@given(st.lists(ANY_TEXT, max_size=5))
def test_one_packer_packs_each_text_as_if_it_were_the_first(texts):
    packer = Packer()

    assert [packer.text(text) for text in texts] == [Packer().text(text) for text in texts]


@settings(deadline=None)
@given(ANY_TEXT)
def test_a_column_text_fits_every_database_and_is_stable(text):
    stored = column_text(text)

    stored.encode()
    assert "\0" not in stored
    assert column_text(stored) == stored


@table("text/columns")
def test_what_no_text_column_holds_is_replaced(text, stored):
    assert column_text(text) == stored


@pytest.mark.parametrize("damaged", [b"", b"no zstd", Packer().text("x" * 1000)[:-5]])
def test_damaged_bytes_are_an_error_that_says_so(damaged):
    with pytest.raises(DamagedError, match="cannot be unpacked"):
        unpack_text(damaged)


def test_a_packed_text_that_is_not_json_is_an_error():
    with pytest.raises(DamagedError, match="not JSON"):
        unpack_json(Packer().text("{"))
