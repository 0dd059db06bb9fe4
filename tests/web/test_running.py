"""The server's socket: a connection that says nothing, or never ends, holds no place."""

import asyncio

import pytest
import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.server import ServerState

from scrapy_dedup.service.serving import Impatient

SECONDS = 30


class Quick(Impatient):
    head_seconds = 0.3


async def late(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer after more time than a request's head may take."""
    await asyncio.sleep(3 * Quick.head_seconds)
    await PlainTextResponse("late")(scope, receive, send)


async def _told(app: ASGIApp, first: bytes, drip: bytes) -> bytes:
    """Return what a client got that sends something, and then a little more every moment until it is hung up on."""
    config = uvicorn.Config(app, log_config=None, lifespan="off")
    config.load()
    state = ServerState()
    server = await asyncio.get_running_loop().create_server(
        lambda: Quick(config=config, server_state=state, app_state={}), "127.0.0.1", 0
    )
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
        writer.write(first)
        reading = asyncio.ensure_future(_all(reader))
        while not reading.done():
            writer.write(drip)
            await asyncio.sleep(0.05)
        writer.close()
    assert not state.connections
    return reading.result()


async def _all(reader: asyncio.StreamReader) -> bytes:
    got = bytearray()
    try:
        while part := await reader.read(10_000):
            got += part
    except ConnectionError:
        pass
    return bytes(got)


@pytest.mark.parametrize(
    ("first", "drip"),
    [
        pytest.param(b"", b"", id="nothing"),
        pytest.param(b"GET / HTTP/1.1\r\nX-a: ", b"a", id="half-a-head"),
        pytest.param(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n", b"a", id="a-body-nobody-reads"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET /", b"a", id="half-a-second-head"),
    ],
)
def test_a_request_that_does_not_go_on_is_given_up(first, drip):
    asyncio.run(asyncio.wait_for(_told(PlainTextResponse("ok"), first, drip), SECONDS))


def test_the_answer_to_a_request_is_waited_for():
    told = asyncio.run(asyncio.wait_for(_told(late, b"GET / HTTP/1.0\r\nHost: x\r\n\r\n", b""), SECONDS))

    assert told.endswith(b"late")
