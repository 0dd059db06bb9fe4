"""Pages whose requests a shared queue lent: which are done, and which of these wait until they are safe."""

from scrapy_dedup.plugin.visits import Visit


class Lending:
    """Follows a token from the response that it came with to the moment at which its page's rows are written."""

    def __init__(self) -> None:
        self._under_way: dict[str, Visit] = {}
        self._noted: dict[str, bool] = {}
        """Of pages that are done: whether that waits for more than to be written."""

    def __len__(self) -> int:
        """Return how many are followed."""
        return len(self._under_way) + len(self._noted)

    def begin(self, visit: Visit) -> None:
        """Note a response; one that took another's place has its request, too."""
        if visit.lease:
            self._under_way[visit.lease] = visit

    def take(self, visit: Visit) -> str:
        """Return the token of a page that is done, once; else an empty one."""
        if not (visit.lease and visit.callback_ended and self._under_way.get(visit.lease) is visit):
            return ""
        token, visit.lease = visit.lease, ""
        del self._under_way[token]
        return token

    def note(self, token: str, *, waits: bool) -> None:
        """Note that a page's rows are on their way, or wait for a feed or the user's word."""
        if token:
            self._noted[token] = waits

    def gives_back(self, token: str) -> bool:
        """Say of a request with which Scrapy has done whether its page's rows come, or are on their way."""
        if token in self._noted:
            return True
        visit = self._under_way.get(token)
        if visit is None:
            return False
        if visit.failed or not visit.callback_ended:
            # Nothing more comes of it: the page does not count as seen.
            del self._under_way[token]
            return False
        return True

    def waits(self, token: str) -> bool:
        """Say whether a page waits until its items are safe."""
        return self._noted.get(token, False)

    def forget(self, tokens: list[str]) -> None:
        """Forget requests that were given back."""
        for token in tokens:
            self._noted.pop(token, None)
