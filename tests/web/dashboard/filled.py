"""A store that real crawls have filled, for the dashboard to show; and a project of texts that hate us."""

import shutil
import sys
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from msgspec import Struct, field
from scrapy.settings import default_settings
from sqlalchemy import insert

from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.service.domains.registry import DomainService
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.engine.codec import column_text
from scrapy_dedup.store.records.records import AlarmRecord, CrawledUrlRecord, DocumentRecord, SourceRecord
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.tables.models import Domain
from scrapy_dedup.store.writer import ProjectStore
from tests.end_to_end.crawling import ADDON, Project
from tests.hospital.site import FEW, addresses, site
from tests.report.hostile import ALL
from tests.server import HTML, Answer, Site, WebServer, serving

ROOT: Final = Path(__file__).parents[3]
PROJECT: Final = "harbour"
HOSTILE_PROJECT: Final = "hostile </title><script>window.__ran = 1</script>"
HARBOUR: Final = "www.port-ellery.example"
HOSPITAL: Final = "linde.example"
MORE_DOMAINS: Final = tuple(
    f"{word}{number or ''}.example"
    for number in range(4)
    for word in "rope knot sail anchor quay buoy ferry gull tide mole pier hull mast keel".split()
)
HOSTILE_URL: Final = "http://evil.example/?q=</title><script>window.__ran=1</script>\u202e"
_RESOLVER: Final = "DNS_RESOLVER" if hasattr(default_settings, "DNS_RESOLVER") else "TWISTED_DNS_RESOLVER"


class Filled(Struct, frozen=True):
    """A folder whose `.scrapy/dedup.db` two sites were crawled into."""

    folder: Path
    settings: dict[str, str] = field(default_factory=lambda: {"DEDUP_PROJECT": PROJECT})

    @property
    def url(self) -> str:
        return f"sqlite:///{self.folder / '.scrapy' / 'dedup.db'}"

    def copied(self, folder: Path) -> "Filled":
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        return Filled(folder, dict(self.settings))


def fill(folder: Path, editions: Sequence[int] = (1, 2)) -> Filled:
    """Crawl a harbour's almanac in these editions and a hospital's site once, and add what no crawl would find."""
    crawled = Project(folder, {**ADDON, "DEDUP_PROJECT": PROJECT, _RESOLVER: "tests.web.dashboard.names.Loopback"})
    with serving(1, lambda _origins: {}) as server:
        port = urlsplit(server.origins[0]).port
        for edition in editions:
            server.site = _almanac(folder / "site", f"http://{HARBOUR}:{port}", edition)
            _ready(server, port)
            crawled.crawl(
                "walker", "-a", f"start=http://{HARBOUR}:{port}/index.html", DEDUP_KEEP_PAGES=2, DEDUP_DIFF=True
            )
        pages = site(FEW, f"http://{HOSPITAL}:{port}")
        server.site = {**pages}
        crawled.crawl("hospital", "-a", f"start={' '.join(addresses(pages, FEW))}", DEDUP_LANGUAGES=["nl"])
    filled = Filled(folder)
    with Store.open(filled.url) as store:
        add_registry(store.project(PROJECT))
        add_hostile(store, store.project(HOSTILE_PROJECT))
    return filled


def _ready(server: WebServer, port: int | None) -> None:
    server.site[f"http://{HARBOUR}:{port}/robots.txt"] = Answer("User-agent: *\nAllow: /\n", content_type="text/plain")


def _almanac(folder: Path, origin: str, edition: int) -> Site:
    spec = spec_from_file_location("offline_site_alone", ROOT / "example_project" / "offline_site" / "build.py")
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    shutil.rmtree(folder, ignore_errors=True)
    kinds = {".html": HTML, ".pdf": "application/pdf", ".xml": "application/xml"}
    return {
        f"{origin}/{file.relative_to(folder).as_posix()}": Answer(file.read_bytes(), content_type=kinds[file.suffix])
        for file in module.build(folder, origin, edition)
    }


def add_registry(project: ProjectStore) -> None:
    """Register some domains of every kind, and raise an alarm."""
    at = datetime.now(UTC)
    service = DomainService(project, Settings())
    service.register_domains([*MORE_DOMAINS, "www.rope.example"], at)
    for number, name in enumerate(MORE_DOMAINS[:12]):
        best = (number % 5 + 4) / 10
        service.update_candidate_counts(name, at, high=number, low=3, confidence=best)
    service.blacklist_domain("spam.example", at, by="editor", reason="Sells links")
    until = at + timedelta(days=30)
    service.blacklist_domain("cheap-anchors.example", at, by="editor", reason="Copies other sites", expires_at=until)


def add_hostile(store: Store, project: ProjectStore) -> None:
    """Put hostile text into every column that a page, a spider or a person fills."""
    at = datetime.now(UTC)
    run = project.begin_run(spider=ALL, jobdir=ALL, started_at=at - timedelta(hours=2))
    project.end_run(run.id, status="finished", reason=ALL, stats=_stats(), finished_at=at - timedelta(hours=1))
    project.begin_run(spider=ALL + "s" * 100_000, jobdir=None, started_at=at - timedelta(hours=1))
    for number, (url, title) in enumerate(((HOSTILE_URL, ALL), ("http://evil.example/long", "t" * 10_000_000))):
        html = (
            f"<html><head><title>{title}</title></head><body><p>{ALL}</p><script>window.__ran=1</script></body></html>"
        )
        key = page_key(url)
        project.write(
            [
                DocumentRecord(
                    key, url, "evil.example", "completed", at, title=title, chars_in=50, chars_out=20 + number
                ),
                SourceRecord(key, url, "evil.example", "html", html, at, title=title, cleaned_content=ALL),
                CrawledUrlRecord(key, url, "evil.example", "crawled", at, http_status=200, document_key=key),
            ]
        )
    project.write([AlarmRecord("evil.example", 1, f"content root lost {ALL}", 9, 10, at, raised_at=at)])
    with store.session() as session:
        for name in (ALL[:200], "x" * 5_000, "javascript:window.__ran=1"):
            session.execute(insert(Domain).values(_domain(project.id, name, at)))
        session.commit()


def _domain(project_id: uuid.UUID, name: str, at: datetime) -> dict[str, object]:
    text = column_text(name)
    return dict(  # noqa: C408 (as its columns are named)
        project_id=project_id,
        domain_name=text,
        status="BLACKLISTED",
        status_before="DISCOVERED",
        boilerplate_share=0.0,
        blacklisted_at=at,
        blacklisted_by=column_text(ALL),
        blacklist_reason=column_text(ALL),
        joined_to=text,
        discovered_at=at,
    )


def _stats() -> dict[str, Any]:
    return {"dedup/items/in": 5, ALL: 3, "dedup/pages/chars_in": 100, "dedup/pages/chars_out": 40}
