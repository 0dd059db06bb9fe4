"""All pages of a corpus beside each other, one after the other, in the order of the input.

It is the one step that is not spread: which page stands for which depends on all that came before. So it sees next to
nothing of a page: of most, which share nothing, some 300 bytes; of the others what is compared, with the clean text
where texts may be compared. What it needs of those it keeps in a temporary store, as `scrapy dedup clean` does, with
the same code.
"""

import json
from collections.abc import Callable, Iterable
from typing import Any

from scrapy_dedup.batch.columns import unraw
from scrapy_dedup.batch.lookups import LookupWriter
from scrapy_dedup.batch.shared_facts import PageTally, line_of
from scrapy_dedup.batch.steps_pages import BAD, NO_PAGE, NO_TEXT
from scrapy_dedup.service.chunking import ACROSS
from scrapy_dedup.service.cleaning_run import Tally
from scrapy_dedup.service.cleaning_run_others import RunOthers
from scrapy_dedup.settings import Settings


class Judge:
    """Says of each page whether it goes out, and what of it does not."""

    def __init__(
        self, settings: Settings, folder: str, decisions: LookupWriter, complain: Callable[[str], None]
    ) -> None:
        """Begin with no page.

        Args:
            settings: of the run.
            folder: for what is to be kept meanwhile; the run's own.
            decisions: takes what differs from a page that is alone.
            complain: told of bad records.
        """
        self.tally = Tally()
        self._settings = settings
        self._others = RunOthers(settings, folder)
        self._decisions = decisions
        self._complain = complain

    def close(self) -> None:
        """Let go of the temporary store."""
        self._others.close()

    def judge(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Judge pages: rows of kind, place, domain, chars, tally, facts and cleaned_content, in their order."""
        for kind, place, domain, chars, tally, facts, content in rows:
            if kind == BAD:
                self.tally.bad += 1
                self._complain(tally)
            elif kind == NO_PAGE:
                self.tally.no_page += 1
            else:
                self._page(place, (unraw(domain), chars, facts, content), PageTally.from_json(tally))

    def _page(self, place: bytes, said: tuple[str, int, str | None, str | None], own: PageTally) -> None:
        domain, chars, facts, content = said
        counts = self.tally.counts
        counts.update(own.seconds)
        if facts is None:
            self._count(own)
            counts.update(own.alone)
            # Of a page that could not be read there is no text, and nobody is compared with it.
            if chars != NO_TEXT:
                self._others.pass_by(place, domain, chars, is_kept=own.is_kept)
            return
        line = line_of(facts, domain, (chars, content), self._settings, is_kept=own.is_kept)
        placed = self._others.place(line, counts)
        decision: dict[str, Any] = {}
        if placed.left is not None:
            decision["left"] = placed.left
        else:
            self._count(own)
            decision = _decision(placed.rows[0]["dedup"])
        if decision:
            self._decisions.put(place, json.dumps(decision))

    def _count(self, own: PageTally) -> None:
        self.tally.pages += 1
        self.tally.counts.update(own.counts)
        self.tally.hows[own.how] += 1
        if own.flag is not None:
            self.tally.flags[own.flag] += 1


def _decision(report: dict[str, Any]) -> dict[str, Any]:
    """Return what of a report differs from that of a page which shares nothing."""
    found = {name: report[name] for name in ("near_duplicate",) if name in report}
    chunks = [
        [place, one["layer"], one["reason"], one.get("holder")]
        for place, one in enumerate(report.get("chunks", ()))
        if one.get("reason") == ACROSS
    ]
    return found | ({"chunks": chunks} if chunks else {})
