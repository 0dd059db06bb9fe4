"""A way to a server that can be cut, or made to swallow what passes, as networks do."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Proxy:
    """Passes bytes between 127.0.0.1:port and a server's port."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._passes = threading.Event()
        self._passes.set()
        self._open: set[socket.socket] = set()
        self._refuses = False
        self._lock = threading.Lock()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self.felt = threading.Event()
        """Set once somebody was refused, or something swallowed."""
        threading.Thread(target=self._accept, daemon=True).start()

    def swallow(self) -> None:
        """Keep all connections, and pass nothing more: nobody is told that the other side is away."""
        self._passes.clear()

    def cut(self) -> None:
        self._refuses = True
        with self._lock:
            ends = list(self._open)
        for end in ends:
            _shut(end)
        self._passes.set()

    def mend(self) -> None:
        self._refuses = False
        self._passes.set()

    def close(self) -> None:
        _shut(self._listening)
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            if self._refuses:
                self.felt.set()
                client.close()
                continue
            server = socket.create_connection(("127.0.0.1", self._target))
            with self._lock:
                self._open |= {client, server}
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self._pass, args=(source, sink), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while some := source.recv(65_536):
                if not self._passes.is_set():
                    self.felt.set()
                    self._passes.wait()
                sink.sendall(some)
        for end in (source, sink):
            _shut(end)
            with self._lock:
                self._open.discard(end)


def _shut(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()


@contextmanager
def proxy(target: int) -> Iterator[Proxy]:
    with contextlib.closing(Proxy(target)) as made:
        yield made
