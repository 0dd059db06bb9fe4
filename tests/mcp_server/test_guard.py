"""Who may speak to the server over HTTP, by the headers of a request."""

from scrapy_dedup.core.hosts import hosts_of
from scrapy_dedup.mcp_server import Guard
from tests.tables import table

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


@table("mcp_server/hosts")
def test_the_host_is_one_of_ours(host: str, answer: int) -> None:
    assert status(host=host) == answer


def test_there_is_one_host() -> None:
    assert status(host=[]) == 421
    assert status(host=["127.0.0.1:8643", "127.0.0.1:8643"]) == 421


@table("mcp_server/origins")
def test_a_request_from_a_web_page_is_from_one_of_ours(origin: str, answer: int) -> None:
    assert status(origin=origin) == answer


@table("mcp_server/tokens")
def test_the_token_is_known(authorization: str | list[str], answer: int) -> None:
    assert status(authorization=authorization) == answer
