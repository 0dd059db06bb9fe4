"""Fingerprints of blocks and of texts."""

import re
from collections.abc import Sequence
from hashlib import blake2b, sha256

# 64 bits: at 10 million blocks of one domain a false match has odds near 3e-6 (birthday bound n²/2⁶⁵); 32 bits
# reach even odds at 77 thousand blocks.
BLOCK_BYTES = 8
TEXT_BYTES = 16

_ASCII = bytes(range(128))
# What `str.split` parts words by.
_ASCII_SPACES = bytes.maketrans(b"\t\n\v\f\r\x1c\x1d\x1e\x1f", b" " * 9)
_SEVERAL_SPACES = re.compile(b"  +")
_OTHER_SPACE = re.compile("[\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")


def fold(text: str) -> str:
    """Return the text with runs of white space as one space, ends cut, in lower case."""
    return " ".join(text.split()).lower()


def beyond_ascii(raw: bytes) -> str:
    """Return the other characters of a text, given in UTF-8."""
    return raw.translate(None, _ASCII).decode("utf-8", "surrogatepass")


def _folded(text: str) -> bytes:
    """Return in UTF-8 what `fold` returns, with capitals; of a long text in a third of the time."""
    raw = text.encode("utf-8", "surrogatepass")
    for space in () if text.isascii() else set(_OTHER_SPACE.findall(beyond_ascii(raw))):
        raw = raw.replace(space.encode(), b" ")
    raw = raw.translate(_ASCII_SPACES)
    return (_SEVERAL_SPACES.sub(b" ", raw) if b"  " in raw else raw).strip()


def _in_lower_case(raw: bytes) -> bytes:
    if raw.isascii():
        return raw.lower()
    return raw.decode("utf-8", "surrogatepass").lower().encode("utf-8", "surrogatepass")


def block_fingerprint(path: str, text: str) -> int:
    """Return 64 bits that stand for (DOM path, folded text) of one block."""
    return fingerprint_of(path, " ".join(text.split()))


def fingerprint_of(path: str, text: str) -> int:
    """Return the fingerprint of a block in whose text white space is folded already; case does not count."""
    digest = blake2b(f"{path}\0{text.lower()}".encode("utf-8", "surrogatepass"), digest_size=BLOCK_BYTES)
    return int.from_bytes(digest.digest(), "big")


def text_hash(text: str) -> bytes:
    """Return 16 bytes that stand for a text; white space and case do not count."""
    return blake2b(_in_lower_case(_folded(text)), digest_size=TEXT_BYTES).digest()


def content_hash(content: str) -> bytes:
    """Return the SHA-256 of a page's main content, 32 bytes; white space does not count, case does."""
    return sha256(_folded(content)).digest()


def parts_hash(*parts: bytes, size: int = TEXT_BYTES) -> bytes:
    """Return bytes that stand for some parts in their order: no two lists of parts read the same."""
    digest = blake2b(digest_size=size)
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.digest()


def to_hex(fingerprint: int) -> str:
    """Return a block's fingerprint as 16 hexadecimal digits, the form in which it is stored and shown."""
    return f"{fingerprint:016x}"


def in_hex(fingerprints: Sequence[int]) -> list[str]:
    """Return the fingerprints of blocks as `to_hex` does."""
    return [f"{fingerprint:016x}" for fingerprint in fingerprints]


def to_digits(signature: int) -> str:
    """Return a signed number of 64 bits as 16 hexadecimal digits, the form in which a person sees a layout."""
    return f"{signature % 2**64:016x}"


def from_hex(digits: str) -> int:
    """Return the number behind 16 hexadecimal digits.

    Raises:
        ValueError: these are no hexadecimal digits.
    """
    return int(digits, 16)
