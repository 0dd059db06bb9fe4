"""Who has shown the token: sessions of browsers, in memory, gone when the server ends."""

import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

SECONDS: Final = 12 * 60 * 60
_MOST: Final = 100


@dataclass(frozen=True, slots=True)
class Session:
    """One browser that has shown the token.

    Attributes:
        csrf_token: what its forms have to hold.
        until: of the server's clock.
    """

    id: str
    csrf_token: str
    until: float


class Sessions:
    """The sessions there are; the oldest goes where there are too many. For one event loop."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._sessions: OrderedDict[str, Session] = OrderedDict()

    def begin(self) -> Session:
        """Return a new session."""
        session = Session(secrets.token_urlsafe(32), secrets.token_urlsafe(32), self._clock() + SECONDS)
        self._sessions[session.id] = session
        if len(self._sessions) > _MOST:
            self._sessions.popitem(last=False)
        return session

    def get(self, session_id: str) -> Session | None:
        """Return a session that has not ended; None for any other text."""
        # A dict compares hashes first: how long that takes tells nothing of an id of 256 random bits.
        found = self._sessions.get(session_id)
        if found is not None and found.until <= self._clock():
            self.end(session_id)
            return None
        return found

    def end(self, session_id: str) -> None:
        """Forget a session."""
        self._sessions.pop(session_id, None)
