import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.pages.fingerprints import PathFingerprints, block_fingerprint, fold, text_hash, to_digits, to_hex
from tests.tables import table


def test_these_fingerprints_are_stored_and_may_not_change():
    """With other values everything that was learned is lost."""
    assert to_hex(block_fingerprint("body>p", "Some  text")) == "ee1485491b811489"
    assert text_hash("Some text").hex() == "f4059a637a026ee5278402fe34285c49"


@table("core/block_is_its_path_and_folded_text")
def test_block_is_its_path_and_folded_text(other_path, other_text, *, same):
    assert (block_fingerprint(other_path, other_text) == block_fingerprint("body>p", "Some text")) is same


@given(st.text(), st.text(alphabet=st.characters(exclude_categories=[])))
def test_any_text_has_fingerprints(path, text):
    assert 0 <= block_fingerprint(path, text) < 2**64
    assert PathFingerprints(path).of(fold(text)) == block_fingerprint(path, text)
    assert text_hash(text) == text_hash(fold(text))


@pytest.mark.parametrize(
    ("signature", "digits"),
    [(0, "0" * 16), (1, "0" * 15 + "1"), (-1, "f" * 16), (-(2**63), "8" + "0" * 15)],
    ids=["none", "one", "minus-one", "smallest"],
)
def test_a_signed_number_has_sixteen_digits(signature, digits):
    assert to_digits(signature) == digits
