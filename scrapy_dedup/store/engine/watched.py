"""Connections to PostgreSQL that do not wait for ever for a server that has gone without a word."""

import time
from collections.abc import Generator
from typing import Any, TypeVar

import psycopg
from sqlalchemy import Engine, event

from scrapy_dedup.store.engine.circuit import SLOW, Circuit

Found = TypeVar("Found")


class WatchedConnection(psycopg.Connection[Any]):
    """A connection whose waiting ends when its server turns out to be away; slow answers are waited for."""

    circuit: Circuit | None = None

    def wait(self, gen: Generator[Any, Any, Found], *given: Any, **named: Any) -> Found:
        """Return what a driver's generator comes to."""
        watched = gen if self.circuit is None else self._watched(gen, self.circuit)
        return super().wait(watched, *given, **named)

    def _watched(self, gen: Generator[Any, Any, Found], circuit: Circuit) -> Generator[Any, Any, Found]:
        """Pass on what a generator waits for; the driver says every tenth of a second that nothing came."""
        heard_at = doubted_at = time.monotonic()
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                at = time.monotonic()
                if ready:
                    heard_at = at
                elif at - heard_at > SLOW.total_seconds():
                    self._give_up_if_away(circuit)
                    if at - doubted_at > SLOW.total_seconds():
                        doubted_at = at
                        circuit.doubt()
                wanted = gen.send(ready)
        except StopIteration as end:
            found: Found = end.value
            return found

    def _give_up_if_away(self, circuit: Circuit) -> None:
        if circuit.is_away:
            # What comes later would be taken for the answer to another question.
            self.pgconn.finish()
            raise psycopg.OperationalError("the server does not answer")


def watch(engine: Engine, circuit: Circuit) -> None:
    """Let an engine make watched connections from now on."""

    def connect(_dialect: Any, _record: Any, arguments: list[Any], named: dict[str, Any]) -> WatchedConnection:
        connection = WatchedConnection.connect(*arguments, **named)
        connection.circuit = circuit
        return connection

    # Those that were made before are not.
    engine.dispose()
    event.listen(engine, "do_connect", connect)
