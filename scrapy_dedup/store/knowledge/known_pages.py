"""What a crawl asks of its project's store about other pages with a page's title, text or chunks."""

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from scrapy_dedup.store.knowledge import url_parameters as parameters
from scrapy_dedup.store.pages import site_configs as configs
from scrapy_dedup.store.records import document_chunks, signatures
from scrapy_dedup.store.records.page_records import Twin
from scrapy_dedup.store.records.signatures import BandMatch

if TYPE_CHECKING:
    from scrapy_dedup.store.records.stored import Run
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import datetime
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy import ColumnElement, Connection, Executable, and_, bindparam, exists, func, select, union

from scrapy_dedup.core.chunks.chunks import StoredChunk
from scrapy_dedup.store.engine.codec import Packer, column_text
from scrapy_dedup.store.engine.database import Database
from scrapy_dedup.store.engine.errors import StoreError, shown
from scrapy_dedup.store.knowledge import layout_pictures
from scrapy_dedup.store.knowledge import templates as stored_templates
from scrapy_dedup.store.pages import contents, extractions, responses, states, visits
from scrapy_dedup.store.records.batch import template_row
from scrapy_dedup.store.records.document_chunks import visible
from scrapy_dedup.store.records.lookups import columns_of, named
from scrapy_dedup.store.records.records import TemplateRecord
from scrapy_dedup.store.records.stored import (
    ChangeChoice,
    ExtractionChoice,
    ExtractionFigures,
    LayoutCount,
    LayoutFigures,
    MissedPage,
    StoredAlarm,
    StoredChange,
    StoredSignature,
    StoredVisit,
    TemplateFigures,
)
from scrapy_dedup.store.tables.columns import by_code_point
from scrapy_dedup.store.tables.models import (
    IS_OPEN,
    REST,
    CrawlRun,
    Document,
    DocumentChunk,
    LayoutAlarm,
    LayoutRun,
    LayoutSignature,
    LayoutTemplateRow,
    NearDuplicate,
    PageSignature,
    SourceRow,
)
from scrapy_dedup.store.tables.upserts import chunks

_KEYS_AT_ONCE = 5_000
# Lists show fifty; whoever wants all does not notice.
_CHANGES_AT_ONCE = 500

Row = TypeVar("Row")
Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")

Domains = str | Collection[str] | None
"""One, some, or all."""


def asks(
    function: Callable[Concatenate[Connection, uuid.UUID, Asked], Answer], *, write: bool = False, lock: bool = False
) -> Callable[Concatenate["PageHistory", Asked], Answer]:
    """Return the method that calls a function of the store with the project, in a transaction of its own.

    Args:
        function: what it does, its docstring says.
        write: it writes.
        lock: it writes, and waits for the project's turn.
    """

    @wraps(function)
    def ask(project: "PageHistory", /, *args: Asked.args, **options: Asked.kwargs) -> Answer:
        with project.transaction(write=write or lock) as connection:
            if lock:
                project.lock(connection)
            return function(connection, project.id, *args, **options)

    return ask


class PageHistory:
    """The part of `ProjectStore` that knows pages between two crawls."""

    page_states = asks(states.find_states)
    held_responses = asks(responses.find)
    held_texts = asks(responses.find_texts)
    deliveries = asks(responses.deliveries)
    has_pages = asks(states.has_pages)
    live_pages = asks(states.live_pages)
    urls_asked = asks(states.urls_asked)
    count_missed = asks(states.count_missed, lock=True)
    blocks_of_domain = asks(states.blocks_of_domain)
    extraction = asks(extractions.find)
    extractions_of = asks(extractions.of_page)
    release_extractions = asks(extractions.release, write=True)
    extraction_figures = asks(extractions.figures)
    validator_counts = asks(visits.find)
    run_figures = asks(visits.figures_of_run)
    runs = asks(visits.run_figures)
    _start = asks(visits.start_of)
    _count_changes = asks(visits.count_changes)
    _held_chunks = asks(document_chunks.of_pages)

    def __init__(self, database: Database, project_id: uuid.UUID, name: str) -> None:
        """Use `Store.project`."""
        self.id = project_id
        self.name = name
        self._database = database

    def transaction(self, *, write: bool = False) -> AbstractContextManager[Connection]:
        """Give a connection for what several functions of the store do together, see `Database.transaction`."""
        return self._database.transaction(write=write)

    def held_chunks(self, keys: Collection[bytes]) -> dict[bytes, list[StoredChunk]]:
        """Return what became of the chunks of some pages."""
        return self._held_chunks(keys) if keys else {}

    def delete_extractions(self, choice: ExtractionChoice, *, dry_run: bool) -> ExtractionFigures:
        """Delete extractions, or only count them; return how many they are."""
        with self._database.transaction(write=not dry_run) as connection:
            return extractions.remove(connection, self.id, choice, dry_run=dry_run)

    def visits_of_run(self, run_id: uuid.UUID) -> Iterator[StoredVisit]:
        """Iterate over the visits of a run, in the order of time."""
        return self._stream(lambda connection, last: visits.of_run(connection, self.id, run_id, last, _KEYS_AT_ONCE))

    def changes(
        self, since: uuid.UUID | datetime, *, verdict: str | None = None, domain: str | None = None
    ) -> Iterator[StoredChange]:
        """Iterate over the pages found new, changed or removed since an instant, or since a run began.

        Args:
            since: from then on.
            verdict: only pages found so.
            domain: only pages of this one.

        Raises:
            StoreError: there is no such run.
        """
        choice = ChangeChoice(self._start_of(since), verdict, domain)

        def some(connection: Connection, last: StoredChange | None) -> list[StoredChange]:
            return visits.changes(connection, self.id, replace(choice, after=last), _CHANGES_AT_ONCE)

        return self._stream(some)

    def count_changes(
        self, since: uuid.UUID | datetime, *, verdict: str | None = None, domain: str | None = None
    ) -> dict[str, int]:
        """Return how many changes `changes` gives, by verdict.

        Raises:
            StoreError: there is no such run.
        """
        return self._count_changes(ChangeChoice(self._start_of(since), verdict, domain))

    def _start_of(self, since: uuid.UUID | datetime) -> datetime:
        start = since if isinstance(since, datetime) else self._start(since)
        if start is None:
            raise StoreError(f"there is no run {since} in project {self.name!r}; `scrapy dedup runs` lists them")
        return start

    def missing_pages(
        self, run_id: uuid.UUID, domains: Collection[str], *, shared: bool = False
    ) -> Iterator[MissedPage]:
        """Iterate over the pages of domains that a run has not found, to the end; see `states.find_missing`."""
        with self._database.transaction() as connection:
            yield from states.find_missing(connection, self.id, run_id, domains, shared=shared)

    def lock(self, connection: Connection) -> int:
        """Take this project's turn to write; return how many bytes it holds."""
        stored_bytes = contents.lock_project(connection, self.id)
        if stored_bytes is None:
            name = shown(self._database.url)
            raise StoreError(
                f"store {name}: project {self.name!r} was deleted. Start the crawl again to create it anew."
            )
        return stored_bytes

    def _stream(self, some: Callable[[Connection, Row | None], list[Row]]) -> Iterator[Row]:
        """Read in several short transactions, each after the last row before: who stops iterating leaves none open."""
        last: Row | None = None
        while True:
            with self._database.transaction() as connection:
                rows = some(connection, last)
            if not rows:
                return
            yield from rows
            last = rows[-1]


class _Layout(Struct):
    """What is found of a layout, one table after the other."""

    sums: Any = None
    runs: list[LayoutCount] = field(default_factory=list)
    example_url: str | None = None
    template: TemplateFigures | None = None


def layouts_of(connection: Connection, project_id: uuid.UUID, domain: Domains = None) -> list[LayoutFigures]:
    """Return the layouts of a domain, of some or of all: in the order of domains, those with most pages first."""
    found: dict[tuple[str, int], _Layout] = {}
    for row in connection.execute(_signature_sums(project_id, domain)):
        found.setdefault((row.domain, row.layout), _Layout()).sums = row
    for row in connection.execute(_run_counts(project_id, domain)):
        layout = found.setdefault((row.domain, row.layout), _Layout())
        layout.runs.append(LayoutCount(row.id, row.started_at, int(row.pages)))
        # That of the newest run: older addresses may be gone.
        layout.example_url = row.first_url
    for version in stored_templates.figures(connection, project_id, domain):
        layout = found.setdefault((version.domain, version.layout), _Layout())
        if layout.template is None or layout.template.state != "live":
            layout.template = version
    figures = [_figures(*names, layout) for names, layout in found.items()]
    return sorted(figures, key=lambda each: (each.domain, -each.pages, each.layout))


def some_domains(connection: Connection, project_id: uuid.UUID, limit: int, after: str = "") -> list[str]:
    """Return the first domains, by name, behind a name, of which layouts or templates are known."""
    parts = []
    for model in (LayoutSignature, LayoutTemplateRow):
        name = by_code_point(model.domain)
        of_project = select(model.domain).where(model.project_id == project_id, name > column_text(after))
        parts.append(of_project.group_by(model.domain).order_by(name).limit(limit).subquery())
    # What each has behind the name, so that neither is read to its end.
    either = union(*(select(part.c.domain) for part in parts)).subquery()
    return list(connection.scalars(select(either.c.domain).order_by(by_code_point(either.c.domain)).limit(limit)))


def _signature_sums(project_id: uuid.UUID, domain: Domains) -> Any:
    layout = func.coalesce(LayoutSignature.template_id, REST).label("layout")
    return (
        select(
            LayoutSignature.domain,
            layout,
            func.count().label("signatures"),
            func.sum(LayoutSignature.seen_count).label("pages"),
            func.min(LayoutSignature.first_seen_at).label("first_seen_at"),
            func.max(LayoutSignature.last_seen_at).label("last_seen_at"),
        )
        .where(*_of(LayoutSignature, project_id, domain), LayoutSignature.level == 1)
        .group_by(LayoutSignature.domain, layout)
    )


def _run_counts(project_id: uuid.UUID, domain: Domains) -> Any:
    same_run = and_(CrawlRun.project_id == LayoutRun.project_id, CrawlRun.id == LayoutRun.run_id)
    columns = (LayoutRun.domain, LayoutRun.layout, LayoutRun.pages, LayoutRun.first_url)
    return (
        select(*columns, CrawlRun.id, CrawlRun.started_at)
        .outerjoin(CrawlRun, same_run)
        .where(*_of(LayoutRun, project_id, domain))
        .order_by(func.coalesce(CrawlRun.started_at, LayoutRun.counted_at), LayoutRun.run_id)
    )


def _figures(domain: str, layout: int, found: _Layout) -> LayoutFigures:
    sums = found.sums
    return LayoutFigures(
        domain,
        layout,
        signatures=sums.signatures if sums else 0,
        # PostgreSQL's sums of integers are decimals.
        pages=int(sums.pages) if sums else 0,
        first_seen_at=sums.first_seen_at if sums else None,
        last_seen_at=sums.last_seen_at if sums else None,
        runs=tuple(found.runs),
        example_url=found.example_url,
        template=found.template,
    )


def signatures_of(connection: Connection, project_id: uuid.UUID, domain: str) -> list[StoredSignature]:
    """Return the signatures of a domain, in the order of levels and hashes."""
    columns = [
        LayoutSignature.template_id if name == "layout" else getattr(LayoutSignature, name)
        for name in StoredSignature.__struct_fields__
    ]
    ordered = select(*columns).where(*_of(LayoutSignature, project_id, domain))
    ordered = ordered.order_by(LayoutSignature.level, LayoutSignature.signature_hash)
    return [StoredSignature(*row) for row in connection.execute(ordered)]


def alarms_of(
    connection: Connection, project_id: uuid.UUID, domain: Domains = None, *, open_only: bool = False
) -> list[StoredAlarm]:
    """Return the alarms of a domain, of some or of all, newest first."""
    order = (LayoutAlarm.raised_at.desc(), by_code_point(LayoutAlarm.domain), LayoutAlarm.layout)
    some = select(*columns_of(LayoutAlarm, StoredAlarm)).where(*_of(LayoutAlarm, project_id, domain)).order_by(*order)
    if open_only:
        some = some.where(IS_OPEN)
    return [StoredAlarm(**row) for row in connection.execute(some).mappings()]


def _of(model: Any, project_id: uuid.UUID, domains: Domains) -> Sequence[ColumnElement[bool]]:
    return (model.project_id == project_id, *named(model.domain, domains))


class KnownLayouts(PageHistory):
    """The part of `ProjectStore` that knows layouts and their templates."""

    templates = asks(stored_templates.of_domain)
    template_versions = asks(stored_templates.versions)
    template_domains = asks(stored_templates.domains)
    template_figures = asks(stored_templates.figures)
    set_template_state = asks(stored_templates.set_state, lock=True)
    layouts = asks(layouts_of)
    some_domains_with_layouts = asks(some_domains)
    signatures = asks(signatures_of)
    alarms = asks(alarms_of)
    pictures = asks(layout_pictures.of_domain)
    picture_facts = asks(layout_pictures.facts_of_domain)
    picture = asks(layout_pictures.get)
    put_picture = asks(layout_pictures.put, write=True)

    def add_template(self, record: TemplateRecord) -> int:
        """Add a version of a template, unless it equals the newest one; return the number of the one or the other."""
        row = template_row(record, self.id, Packer())
        with self._database.transaction(write=True) as connection:
            self.lock(connection)
            return stored_templates.add(connection, row)


# More pages with one title, or one text, tell nothing that these do not.
_MOST_TWINS = 64


def _its_document() -> ColumnElement[bool]:
    return and_(Document.project_id == PageSignature.project_id, Document.page_key == PageSignature.page_key)


_OF_PROJECT = PageSignature.project_id == bindparam("of_project", type_=PageSignature.project_id.type)
_SIGNATURES = select().join_from(PageSignature, Document, _its_document()).where(_OF_PROJECT, visible())
# Asked for every page: building these each time would cost more than the answers.
_SAME_TITLE = (
    _SIGNATURES.add_columns(PageSignature.page_key, PageSignature.text_hash, PageSignature.layer.is_not(None))
    .where(PageSignature.domain == bindparam("of_domain"), PageSignature.title_key == bindparam("title"))
    .order_by(PageSignature.id)
    .limit(_MOST_TWINS)
)
_SAME_TEXT = (
    _SIGNATURES.add_columns(PageSignature.page_key)
    .where(PageSignature.text_hash == bindparam("text"), PageSignature.layer.is_(None))
    .order_by(PageSignature.id)
    .limit(_MOST_TWINS)
)
_SAME_TEXT_OF_DOMAIN = _SAME_TEXT.where(PageSignature.domain == bindparam("of_domain"))
_TEXTS = (
    select(SourceRow.page_key, SourceRow.cleaned_content)
    .join(Document, and_(Document.project_id == SourceRow.project_id, Document.page_key == SourceRow.page_key))
    .where(
        SourceRow.project_id == bindparam("of_project", type_=SourceRow.project_id.type),
        SourceRow.page_key.in_(bindparam("pages", expanding=True)),
        SourceRow.cleaned_content.is_not(None),
        visible(),
    )
)


def same_title(
    connection: Connection, project_id: uuid.UUID, run_id: uuid.UUID | None, domain: str, title_key: bytes
) -> list[Twin]:
    """Return pages of a domain that have a title, in the order in which they came."""
    values = {"of_project": project_id, "of_run": run_id, "of_domain": column_text(domain), "title": title_key}
    return [Twin(*row) for row in connection.execute(_SAME_TITLE, values)]


def same_text(
    connection: Connection, project_id: uuid.UUID, run_id: uuid.UUID | None, text_hash: bytes, domain: str | None
) -> list[bytes]:
    """Return the pages that stand for a text, in the order in which they came; None: of any domain."""
    values = {"of_project": project_id, "of_run": run_id, "text": text_hash}
    if domain is None:
        return list(connection.scalars(_SAME_TEXT, values))
    return list(connection.scalars(_SAME_TEXT_OF_DOMAIN, values | {"of_domain": column_text(domain)}))


def texts(
    connection: Connection, project_id: uuid.UUID, run_id: uuid.UUID | None, keys: Collection[bytes]
) -> dict[bytes, str]:
    """Return the clean texts of those pages that count for others and whose text is kept."""
    found: dict[bytes, str] = {}
    values = {"of_project": project_id, "of_run": run_id}
    for some in chunks(keys):
        for key, text in connection.execute(_TEXTS, values | {"pages": some}):
            found[key] = text or ""
    return found


# A statement for each number of texts would be too many to keep, and to build one costs more than the answer.
_TEXTS_STEP = 16
_MOST_TEXTS = 256


@lru_cache(maxsize=32)
def _any_other(bands: int, texts: int) -> Executable:
    """Ask by one statement whether any page may have the title, the text, a band or the text of a chunk of a page."""
    own = select(PageSignature.id).where(_OF_PROJECT)
    title = own.where(PageSignature.domain == bindparam("of_domain"), PageSignature.title_key == bindparam("title"))
    found: list[ColumnElement[bool]] = [exists(title), exists(own.where(PageSignature.text_hash == bindparam("text")))]
    if bands:
        of_bands = NearDuplicate.band.in_([bindparam(f"band_{at}") for at in range(bands)])
        found.append(exists(select(NearDuplicate.page).where(of_bands)))
    if texts:
        of_project = DocumentChunk.project_id == bindparam("of_project")
        of_texts = DocumentChunk.content_hash.in_([bindparam(f"chunk_{at}") for at in range(texts)])
        found.append(exists(select(DocumentChunk.page_key).where(of_project, of_texts)))
    return select(*found)


def without_what_none_has(connection: Connection, project_id: uuid.UUID, question: "Question") -> "Question":
    """Return a question about a new page without what no other page can have: of most pages that is all."""
    bands, texts = question.bands, sorted(question.hashes)
    if len(texts) > _MOST_TEXTS:
        return question
    # The last one again, up to a number for which there is a statement.
    texts += texts[-1:] * (-len(texts) % _TEXTS_STEP)
    values: dict[str, Any] = {f"band_{number}": band for number, band in enumerate(bands)}
    values |= {f"chunk_{number}": text for number, text in enumerate(texts)}
    values |= {"of_project": project_id, "of_domain": column_text(question.domain)}
    values |= {"title": question.title_key, "text": question.text_hash}
    title, text, *others = connection.execute(_any_other(len(bands), len(texts)), values).one()
    return replace(
        question,
        title_key=question.title_key if title else None,
        text_hash=question.text_hash if text else None,
        bands=bands if bands and others[0] else (),
        hashes=question.hashes if texts and others[-1] else frozenset(),
    )


class Question(Struct, frozen=True):
    """What of a page others may have, too."""

    page_key: bytes
    domain: str
    title_key: bytes | None = None
    text_hash: bytes | None = None
    bands: tuple[int, ...] = ()
    hashes: frozenset[bytes] = frozenset()
    """Of its chunks."""
    is_new: bool = False
    """The page has no earlier version."""
    of_project: bool = False
    """Pages with the same text count on any domain."""


class Holders(Struct, frozen=True):
    """Who has it."""

    titles: Sequence[Twin] = ()
    texts: Sequence[bytes] = ()
    near: Sequence[BandMatch] = ()
    holders: dict[bytes, list[bytes]] = field(default_factory=dict)
    before: Sequence[StoredChunk] = ()
    """The page's own chunks, of its last version."""


class KnownPages(KnownLayouts):
    """The part of `ProjectStore` that knows what pages have in common."""

    run: "Run | None" = None
    site_config = asks(configs.get)
    site_configs = asks(configs.of_project)
    url_parameters = asks(parameters.of_project)
    put_url_parameters = asks(parameters.put, write=True)
    chunks_of = asks(document_chunks.of_page)

    def others(self, question: Question) -> Holders:
        """Return who has what a page has; pages that are not completed count only if this run has them in work."""
        run_id = self.run.id if self.run else None
        with self._database.transaction() as connection:
            if question.is_new:
                question = without_what_none_has(connection, self.id, question)
            title_key, text_hash = question.title_key, question.text_hash
            about = (connection, self.id, run_id)
            own = question.page_key
            titles = same_title(*about, question.domain, title_key) if title_key else []
            domain = None if question.of_project else question.domain
            texts = same_text(*about, text_hash, domain) if text_hash else []
            near = signatures.candidates(connection, self.id, question.bands, but=own) if question.bands else []
            holders = document_chunks.holders(*about, question.hashes, own) if question.hashes else {}
            has_before = bool(question.hashes) and not question.is_new
            before = document_chunks.of_page(connection, self.id, own) if has_before else []
        return Holders(
            [twin for twin in titles if twin.page_key != own],
            [key for key in texts if key != own],
            near,
            holders,
            before,
        )

    def texts_of(self, keys: Collection[bytes]) -> dict[bytes, str]:
        """Return the clean texts of those pages that count for others and whose text is kept."""
        with self._database.transaction() as connection:
            return texts(connection, self.id, self.run.id if self.run else None, keys)
