"""Under which key the outcome of a callback is kept."""

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Final

# Stored beside nothing: outcomes under keys of another version are simply not found, and their pages are done again.
VERSION: Final = 1
_KEY_BYTES: Final = 16


def memo_key(page_key: bytes, content_hash: bytes, callback: str, cb_kwargs: Mapping[str, Any], version: str) -> bytes:
    """Return 16 bytes that stand for what a callback makes of one content of a page.

    Args:
        page_key: of the page.
        content_hash: of its main content.
        callback: its name; "" for pages that were not crawled here.
        cb_kwargs: as `keeping.encode` returns them.
        version: what the user calls the present state of the callbacks.
    """
    arguments = json.dumps(cb_kwargs, sort_keys=True, separators=(",", ":"))
    key = blake2b(bytes([VERSION]), digest_size=_KEY_BYTES)
    for part in (
        page_key,
        content_hash,
        callback.encode("utf-8", "surrogatepass"),
        arguments.encode(),
        version.encode("utf-8", "surrogatepass"),
    ):
        # With its length, so that no two lists of parts read the same.
        key.update(len(part).to_bytes(8, "big"))
        key.update(part)
    return key.digest()
