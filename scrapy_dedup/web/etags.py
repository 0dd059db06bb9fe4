"""Answers in JSON, with a tag by which a client can ask whether they changed."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from fastapi import Request
from fastapi.responses import Response

JSON: Final = "application/json"
# A client may keep an answer, and has to ask whether it still holds.
_CACHED: Final = "private, no-cache"


def as_bytes(answer: Mapping[str, Any]) -> bytes:
    """Return an answer as JSON in ASCII: lone surrogates, which pages may hold, are no valid UTF-8."""
    return json.dumps(answer, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")


def tag_of(body: bytes) -> str:
    """Return the strong tag of a body."""
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


def tagged(request: Request, body: bytes, media_type: str = JSON, tag: str | None = None) -> Response:
    """Return a body with its tag, or 304 where the client has it already."""
    found = tag or tag_of(body)
    headers = {"ETag": found, "Cache-Control": _CACHED}
    if is_one_of(request.headers.get("if-none-match"), found):
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=media_type, headers=headers)


def answered(request: Request, answer: Mapping[str, Any]) -> Response:
    """Return what was read, as JSON with its tag."""
    return tagged(request, as_bytes(answer))


def done(answer: Mapping[str, Any], status: int = 200, **headers: str) -> Response:
    """Return what was done, as JSON."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(as_bytes(answer), status, named, JSON)


def is_one_of(listed: str | None, tag: str) -> bool:
    """Whether a tag is in a list of a condition's header; `*` is any."""
    if listed is None:
        return False
    words = [word.strip() for word in listed.split(",")]
    return "*" in words or tag in [word.removeprefix("W/") for word in words]
