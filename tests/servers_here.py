"""What tests with a server of their own have in common: a free port, and what is done where it is not installed."""

import os
import socket
from contextlib import closing
from typing import NoReturn

import pytest


def free_port() -> int:
    """Return a port on which nobody listens now."""
    with closing(socket.socket()) as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def is_missing(message: str) -> NoReturn:
    """Skip a test that cannot run here; in CI, where all is there, fail it."""
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)
