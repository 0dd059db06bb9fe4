"""Who may speak to the server over HTTP, by the headers of a request."""

import pytest

from scrapy_dedup.core.hosts import hosts_of
from scrapy_dedup.mcp_server.server import Guard

TOKEN = "right-token"
OURS = hosts_of("127.0.0.1", 8643, ["Crawls.example.org", "proxy.example:9000"])


async def nothing(*_: object) -> None:
    """Serve nobody."""


def status(**headers: str | list[str]) -> int:
    """Return the status of the refusal, 200 for none."""
    given = {"host": "127.0.0.1:8643", "authorization": f"Bearer {TOKEN}"} | headers
    pairs = [
        (name.encode(), each.encode("latin-1"))
        for name, value in given.items()
        for each in ([value] if isinstance(value, str) else value)
    ]
    refused = Guard(nothing, TOKEN, OURS).refusal(pairs)
    return refused.status_code if refused else 200


@pytest.mark.parametrize(
    ("host", "answer"),
    [
        ("127.0.0.1:8643", 200),
        ("localhost:8643", 200),
        ("LOCALHOST:8643", 200),
        ("[::1]:8643", 200),
        ("crawls.example.org", 200),
        ("crawls.example.org:8643", 200),
        ("proxy.example:9000", 200),
        ("proxy.example", 421),
        ("proxy.example:8643", 421),
        ("127.0.0.1", 421),
        ("127.0.0.1:80", 421),
        ("evil.example", 421),
        ("evil.example:8643", 421),
        ("127.0.0.1:8643.evil.example", 421),
        ("user@127.0.0.1:8643", 421),
        ("", 421),
    ],
)
def test_the_host_is_one_of_ours(host: str, answer: int) -> None:
    assert status(host=host) == answer


def test_there_is_one_host() -> None:
    assert status(host=[]) == 421
    assert status(host=["127.0.0.1:8643", "127.0.0.1:8643"]) == 421


@pytest.mark.parametrize(
    ("origin", "answer"),
    [
        ("http://127.0.0.1:8643", 200),
        ("https://crawls.example.org", 200),
        ("https://evil.example", 403),
        ("http://127.0.0.1:9999", 403),
        ("http://localhost", 403),
        ("null", 403),
        ("", 403),
        ("file://127.0.0.1:8643", 403),
        ("http://127.0.0.1:8643@evil.example", 403),
        ("http://[", 403),
    ],
)
def test_a_request_from_a_web_page_is_from_one_of_ours(origin: str, answer: int) -> None:
    assert status(origin=origin) == answer


@pytest.mark.parametrize(
    ("authorization", "answer"),
    [
        (f"Bearer {TOKEN}", 200),
        (f"bearer {TOKEN}", 200),
        (f"Bearer  {TOKEN} ", 200),
        ("Bearer wrong", 401),
        ("Bearer ", 401),
        (f"Basic {TOKEN}", 401),
        (TOKEN, 401),
        ("Bearer \xfc", 401),
        ([], 401),
        ([f"Bearer {TOKEN}", "Bearer other"], 401),
    ],
)
def test_the_token_is_known(authorization: str | list[str], answer: int) -> None:
    assert status(authorization=authorization) == answer
