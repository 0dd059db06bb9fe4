"""What `scrapy dedup domains` and `candidates` print for people."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from rich.table import Table
from rich.text import Text

from scrapy_dedup.commands.terminal import a_table, output, print_table, shown
from scrapy_dedup.core.domains.states import CandidateOutcome, present_status
from scrapy_dedup.report.numbers import count, percent, whole
from scrapy_dedup.service.domains.candidates import CandidateTally
from scrapy_dedup.service.domains.files import BadRow
from scrapy_dedup.service.domains.transfer import ImportedDomains
from scrapy_dedup.service.domains.twins import Twins
from scrapy_dedup.store.domains.candidates import StoredCandidate
from scrapy_dedup.store.domains.lists import DomainCounts, DomainList
from scrapy_dedup.store.domains.registry import StoredDomain

_STATUSES: Final[Mapping[str, str]] = {
    "DISCOVERED": "discovered",
    "PROCESSED_HIGH_QUALITY": "high quality",
    "PROCESSED_LOW_QUALITY": "low quality",
    "BLACKLISTED": "blacklisted",
}
_MOST_SHOWN: Final = 50
_NOTHING_WRITTEN: Final = "Dry run: nothing was written."


def show_list(project: str, found: DomainList, counts: DomainCounts, at: datetime) -> None:
    """Print a page of domains, how to go on, and how many there are of which kind."""
    print_table(f"Domains of project {project}", _table(found.domains, at))
    tell = output().print
    if found.next is not None:
        tell(
            Text(f"{whole(len(found.domains))} of {whole(found.total)}; go on with --after {found.next}"),
            soft_wrap=True,
        )
    kinds = ", ".join(f"{whole(number)} {_STATUSES[status]}" for status, number in counts.statuses.items())
    tell(Text(f"\n{count(counts.total, 'domain')}: {kinds}"), soft_wrap=True)
    joined = f"; {whole(counts.joined)} joined to theirs" if counts.joined else ""
    share = percent(counts.twins, counts.total)
    tell(Text(f"{share} have a twin with or without www. ({whole(counts.twins)}{joined})"), soft_wrap=True)


def _table(found: Iterable[StoredDomain], at: datetime) -> Table:
    table = a_table("Domain", "Status", "Pages", "Boilerplate", "Best", "Mean", "High", "Low", "Crawled", texts=2)
    for each in found:
        table.add_row(
            shown(each.domain_name, 253),
            _status(each, at),
            whole(each.pages),
            percent(max(each.chars_in - each.chars_out, 0), each.chars_in) if each.chars_in else "",
            _score(each.best_confidence_score),
            _score(each.mean_confidence_score),
            whole(each.high_quality_candidate_count),
            whole(each.low_quality_candidate_count),
            _day(each.last_crawled_at),
        )
    return table


def show_one(domain: StoredDomain, joined: str | None, candidates: Sequence[StoredCandidate], at: datetime) -> None:
    """Print what is known of a domain."""
    tell = output().print
    tell(shown(domain.domain_name, 253, style="bold"), soft_wrap=True)
    for name, value in _facts(domain, joined, at):
        tell(Text.assemble(f"  {name:<14}", shown(value, 1_000)), soft_wrap=True)
    if candidates:
        table = a_table("Candidate", "Engine", "Session", "Confidence", "Day", texts=3)
        for each in candidates:
            words = (shown(each.url, 300), shown(each.engine, 50), shown(each.session_name or "", 50))
            table.add_row(*words, _score(each.confidence), _day(each.created_at))
        tell("")
        print_table("Candidates", table)


def _facts(domain: StoredDomain, joined: str | None, at: datetime) -> Iterable[tuple[str, str]]:
    yield "status", _status(domain, at).plain
    if domain.blacklisted_at is not None:
        by, why = domain.blacklisted_by or "somebody", domain.blacklist_reason or "no reason given"
        ends = f", until {_minute(domain.blacklist_expires_at)}" if domain.blacklist_expires_at else ""
        yield "blacklist", f"by {by} at {_minute(domain.blacklisted_at)}{ends}: {why}"
    if domain.best_confidence_score is not None:
        mean = (
            f", {_score(domain.mean_confidence_score)} on average" if domain.mean_confidence_score is not None else ""
        )
        yield "confidence", f"{_score(domain.best_confidence_score)} at best{mean}"
    high, low = domain.high_quality_candidate_count, domain.low_quality_candidate_count
    yield "candidates", f"{whole(high)} of high quality, {whole(low)} of low quality"
    share = percent(max(domain.chars_in - domain.chars_out, 0), domain.chars_in)
    yield "pages", f"{whole(domain.pages)}, {share} of their text boilerplate, {count(domain.errors, 'error')}"
    if domain.twin is not None:
        compared = f"{count(domain.pages_alike, 'page')} alike, {whole(domain.pages_unlike)} unlike"
        yield "twin", f"{domain.twin}: {'counts as one with it' if joined else 'a domain of its own'} ({compared})"
    yield "discovered", _minute(domain.discovered_at)
    yield "processed", _minute(domain.last_processed_at)
    yield "crawled", _minute(domain.last_crawled_at)


def show_added(new: Sequence[str], known: int, *, dry_run: bool) -> None:
    """Print which domains were added, or would be, and how many were there before."""
    being = "is" if known == 1 else "are"
    was = being if dry_run else ("was" if known == 1 else "were")
    already = f", {whole(known)} {was} registered already" if known else ""
    _tell_names(sorted(new), "added", already, dry_run=dry_run)


def show_changed(changed: Iterable[StoredDomain], new: Sequence[str], what: str, *, dry_run: bool) -> None:
    """Print which domains were changed, or would be."""
    names = sorted({*(each.domain_name for each in changed), *new})
    if not names:
        output().print("No domain fits: nothing is changed.")
        return
    _tell_names(names, what, f", {whole(len(new))} of them new" if new else "", dry_run=dry_run)


def _tell_names(names: Sequence[str], what: str, more: str, *, dry_run: bool) -> None:
    tell = output().print
    be = "would be" if dry_run else ("was" if len(names) == 1 else "were")
    end = ":" if names else "."
    tell(Text(f"{count(len(names), 'domain')} {be} {what}{more}{end}"), soft_wrap=True)
    for name in names[:_MOST_SHOWN]:
        tell(Text.assemble("  ", shown(name, 253)), soft_wrap=True)
    if len(names) > _MOST_SHOWN:
        tell(Text(f"  and {whole(len(names) - _MOST_SHOWN)} more", style="dim"))
    if dry_run:
        tell(_NOTHING_WRITTEN)


def show_twins(found: Sequence[Twins], least: int, *, dry_run: bool) -> None:
    """Print pairs of names, and whether they count as one."""
    if not found:
        output().print("No domain has a twin with or without www. in the registry.")
        return
    table = a_table("Domain", "Twin", "Now", "Why", "Alike", "Unlike", texts=4)
    for each in found:
        now = "one" if each.is_joined else "two"
        changed = " (was two)" if each.is_joined and not each.was_joined else ""
        changed = " (was one)" if each.was_joined and not each.is_joined else changed
        row = (shown(each.name, 253), shown(each.other, 253), shown(now + changed), shown(each.reason.value))
        table.add_row(*row, whole(each.evidence.alike), whole(each.evidence.unlike))
    print_table(f"Twins with and without www.; {count(least, 'page')} must be alike, and nine of ten", table)
    if dry_run:
        output().print(_NOTHING_WRITTEN)


def show_import(done: ImportedDomains, refused: Sequence[BadRow], *, dry_run: bool) -> None:
    """Print what became of a file of domains."""
    tell = output().print
    would = "would be " if dry_run else ""
    tell(Text(f"{count(done.new, 'domain')} {would}added, {whole(done.known)} known."))
    for row in refused[:_MOST_SHOWN]:
        tell(shown(f"  {row.where}: {row.reason}; passed over", 500, style="dim"), soft_wrap=True)
    if len(refused) > _MOST_SHOWN:
        tell(Text(f"  and {whole(len(refused) - _MOST_SHOWN)} more", style="dim"))
    if dry_run:
        tell(_NOTHING_WRITTEN)


def show_export(file: Path, number: int) -> None:
    """Print how many domains a file has now."""
    output().print(shown(f"{count(number, 'domain')} written to {file}.", 500), soft_wrap=True)


def show_tally(title: str, tally: CandidateTally) -> None:
    """Print how many URLs of which engine had which outcome."""
    table = a_table("Engine", *(outcome.value.capitalize() for outcome in CandidateOutcome), "All")
    rows = sorted(tally.engines.items())
    for engine, outcomes in [*rows, ("all", tally.outcomes)] if len(rows) != 1 else rows:
        numbers = [outcomes[outcome] for outcome in CandidateOutcome]
        table.add_row(shown(engine, 100), *map(whole, [*numbers, sum(numbers)]))
    print_table(title, table)


def show_new(tally: CandidateTally, urls: Sequence[str]) -> None:
    """Print some of the new candidates, and how many sites may have been counted twice."""
    tell = output().print
    new, twins = tally.outcomes[CandidateOutcome.NEW], tally.outcomes[CandidateOutcome.TWIN]
    tell(Text(f"\n{count(new, 'new candidate')} of {count(tally.outcomes.total(), 'URL')}; {whole(twins)} by a twin."))
    for url in urls[:_MOST_SHOWN]:
        tell(Text.assemble("  ", shown(url, 300)), soft_wrap=True)
    if new > len(urls[:_MOST_SHOWN]):
        tell(Text(f"  and {whole(new - len(urls[:_MOST_SHOWN]))} more", style="dim"))


def _status(domain: StoredDomain, at: datetime) -> Text:
    now = present_status(domain, at)
    ended = " (its blacklist is over)" if now != domain.status else ""
    joined = f", counts as {domain.joined_to}" if domain.joined_to else ""
    return shown(f"{_STATUSES[now]}{ended}{joined}", 300)


def _score(score: float | None) -> str:
    return "" if score is None else f"{score:.2f}"


def _day(at: datetime | None) -> str:
    return "" if at is None else f"{at:%Y-%m-%d}"


def _minute(at: datetime | None) -> str:
    return "never" if at is None else f"{at:%Y-%m-%d %H:%M} UTC"
