"""`scrapy dedup serve --mcp` as clients start it: the SDK's own client over standard input and over HTTP."""

import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx
import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.commands.running import Shop
from tests.mcp_server.conftest import filled_shop, shop
from tests.mcp_server.speaking import CALLS, answer_of
from tests.tables import table
from tests.waiting import wait_for
from tests.warm import ROOT, start_scrapy

__all__ = ["filled_shop", "shop"]
TOKEN = "a-token-of-our-own"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
HEADERS = {"Accept": "application/json, text/event-stream", "Authorization": f"Bearer {TOKEN}"}


def environment() -> dict[str, str]:
    return dict(os.environ) | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


async def answers(client: Client) -> tuple[list[str], dict[str, Any]]:
    """Return which tools there are, and what each of them says."""
    names = [tool.name for tool in (await client.list_tools()).tools]
    return names, {name: answer_of(await client.call_tool(name, arguments)) for name, arguments in CALLS.items()}


def test_a_client_calls_every_tool_over_standard_input_as_the_docs_say(shop):
    documented = json.loads((ROOT / "docs" / "mcp.md").read_text().split("```json")[1].split("```")[0])
    call = ["-m", "scrapy", *documented["mcpServers"]["crawls"]["args"]]
    started = StdioServerParameters(command=sys.executable, args=call, cwd=shop.folder, env=environment())

    async def speak() -> tuple[list[str], dict[str, Any]]:
        async with Client(started) as client:
            return await answers(client)

    names, found = anyio.run(speak)

    assert names == list(CALLS)
    assert found["boilerplate_stats"] == shop.run("report", "--domains", "--json").json


def test_a_store_that_does_not_exist_yet_is_an_empty_one(tmp_path):
    shop = Shop(tmp_path)

    told = shop.run("serve", "--mcp")

    assert (told.code, told.out) == (0, "")
    with shop.open() as store:
        assert "shop" in store.project_names().values()


@dataclass(frozen=True)
class Serving:
    """A server over HTTP."""

    url: str
    said: str


@contextmanager
def over_http(shop: Shop, *options: str) -> Iterator[Serving]:
    has_token = "DEDUP_SERVE" in " ".join(options)
    with tempfile.TemporaryDirectory() as outputs:
        out, err = Path(outputs, "out"), Path(outputs, "err")
        call = ["dedup", "serve", "--mcp", *options, "--http", "--port", "0", *shop.settings]
        process = start_scrapy(call, shop.folder, environment(), stdout=out, stderr=err)
        try:
            lines = 1 if has_token else 2
            wait_for(lambda: process.poll() is not None or (err.exists() and err.read_text().count("\n") >= lines))
            said = err.read_text()
            yield Serving(said.partition("\n")[0].removeprefix("MCP server: "), said)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)
        assert (out.read_text(), err.read_text()) == ("", said), "a server says nothing but where it is"


@pytest.fixture(scope="module")
def serving(filled_shop) -> Iterator[Serving]:
    settings = {"token": TOKEN, "max_body_bytes": 5000, "mcp_blacklist": True, "allowed_hosts": ["crawls.example"]}
    with over_http(filled_shop, "-s", f"DEDUP_SERVE={json.dumps(settings)}") as found:
        yield found


def speak_http(serving: Serving, token: str) -> tuple[list[str], dict[str, Any]]:
    async def speak() -> tuple[list[str], dict[str, Any]]:
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as http,
            Client(streamable_http_client(serving.url, http_client=http)) as client,
        ):
            return await answers(client)

    return anyio.run(speak)


def test_a_client_calls_every_tool_over_http_and_that_which_blacklists_is_there_where_it_is_enabled(
    serving, filled_shop
):
    names, found = speak_http(serving, TOKEN)

    assert names == [*CALLS, "blacklist_domain"]
    assert found["boilerplate_stats"] == filled_shop.run("report", "--domains", "--json").json
    assert TOKEN not in serving.said


def test_without_a_token_one_is_made_and_printed_once(filled_shop):
    with over_http(filled_shop) as made:
        token = made.said.partition("Token of this start: ")[2].strip()
        assert len(token) >= 32
        for given, status in ((TOKEN, 401), (token, 200)):
            headers = HEADERS | {"Authorization": f"Bearer {given}"}
            assert httpx.post(made.url, json=INITIALIZE, headers=headers).status_code == status


@table("commands/mcp_requests")
def test_requests_that_are_not_ours_are_refused(serving, headers, status):
    port = str(httpx.URL(serving.url).port)
    given = {name: value.replace("{port}", port) for name, value in headers.items()}

    assert httpx.post(serving.url, json=INITIALIZE, headers=HEADERS | given).status_code == status


def test_a_body_that_is_too_large_is_refused(serving):
    large = INITIALIZE | {"padding": "x" * 6_000}

    assert httpx.post(serving.url, json=large, headers=HEADERS).status_code == 413


def test_there_is_nothing_else(serving):
    for path in ("/", "/mcp/../etc/passwd", "/docs", "/openapi.json", "/mcp/%2e%2e/x"):
        url = serving.url.removesuffix("/mcp") + path

        assert httpx.get(url).status_code == 401
        assert httpx.get(url, headers=HEADERS).status_code == 404
