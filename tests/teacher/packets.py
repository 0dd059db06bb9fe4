"""Says how many packets leave a machine that does nothing else: `unshare --net python -m tests.teacher.packets`."""

import contextlib
import fcntl
import json
import socket
import struct
import sys
from pathlib import Path

from tests.teacher.hostile import hostile_page
from tests.teacher.showing import Shelf, a_showing, shown, teacher

_SET_FLAGS = 0x8914
_UP_AND_RUNNING = 0x41
_PLACES = ["127.0.0.2:5353", "10.1.2.3", "[::1]:5353", "name.example"]


def main() -> None:
    """Print what the teacher's browser has sent, and what two datagrams are that anybody sends."""
    _raise_loopback()
    before = _sent()
    page = hostile_page(_PLACES, scripts=True)
    with teacher() as browser:
        shown(browser, a_showing(page, scripts=True), Shelf())
    between = _sent()
    for place in ("127.0.0.2", "10.1.2.3"):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket, contextlib.suppress(OSError):
            any_socket.sendto(b"a", (place, 5353))
    sent = {"teacher": _difference(before, between), "others": _difference(between, _sent())}
    sys.stdout.write(json.dumps(sent))


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh", b"lo", _UP_AND_RUNNING).ljust(40, b"\0"))


def _sent() -> dict[str, int]:
    """Return how much was sent, or was to be sent and had no way to go."""
    rows = [row.split() for row in Path("/proc/net/snmp").read_text().splitlines()]
    found: dict[str, int] = {}
    for names, values in zip(rows[::2], rows[1::2], strict=True):
        found |= {f"{names[0]}{name}": int(value) for name, value in zip(names[1:], values[1:], strict=True)}
    with contextlib.suppress(FileNotFoundError):
        found |= {row.split()[0]: int(row.split()[1]) for row in Path("/proc/net/snmp6").read_text().splitlines()}
    kept = "Ip:OutRequests Ip:OutNoRoutes Udp:OutDatagrams Tcp:ActiveOpens Udp6OutDatagrams".split()
    return {name: found.get(name, 0) for name in kept}


def _difference(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    return {name: after[name] - before[name] for name in before}


if __name__ == "__main__":
    main()
