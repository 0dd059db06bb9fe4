"""A store with everything in it, also hostile text, and the application that serves it."""

from datetime import timedelta
from pathlib import Path

from msgspec import Struct
from starlette.testclient import TestClient

from scrapy_dedup.core.addresses import hosts_of
from scrapy_dedup.core.patterns import SiteConfig
from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.service.domains.registry import DomainService
from scrapy_dedup.service.patterns import put_config
from scrapy_dedup.service.stored.analysis import DomainDedupService
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.domains.layouts import StoredPicture
from scrapy_dedup.store.records.records import AlarmRecord, VisitRecord
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from scrapy_dedup.web.app import make_app
from scrapy_dedup.web.security import Access
from scrapy_dedup.web.server import Server
from tests.commands.running import PROJECT, Shop
from tests.service.learned_site import put_site
from tests.service.stored_pages import BANNER, DOMAIN, NOON, a_url, html_page, put

TOKEN = "a-token-of-a-test"
PORT = 8642
HOST = f"127.0.0.1:{PORT}"
ORIGIN = f"http://{HOST}"
COOKIE = "dedup_session"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
SETTINGS = {"DEDUP_PROJECT": PROJECT}
HOSTILE = "<script>alert(1)</script>\"'\x1b[2J\u202eevil\x00{{7*7}}"
PICTURE = b"\x89PNG\r\n\x1a\n"


class Served(Struct, frozen=True):
    """A store, and the application in front of it."""

    shop: Shop
    store: Store
    server: Server

    @property
    def project(self) -> ProjectStore:
        return self.store.project(PROJECT)

    def client(self, *, headers: dict[str, str] | None = BEARER, **access: int) -> TestClient:
        """Return a client of a new application, which knows no sessions yet."""
        app = make_app(self.server, Access(TOKEN, hosts_of("127.0.0.1", PORT, ()), COOKIE, **_roomy(access)))
        return TestClient(app, base_url=ORIGIN, headers=headers, follow_redirects=False, raise_server_exceptions=False)


def _roomy(access: dict[str, int]) -> dict[str, int]:
    return {"requests_a_minute": 1_000_000} | access


def fill(folder: Path) -> Shop:
    """Fill a store: two sites, one of them learned, runs, changes, a configuration, blacklists, hostile text."""
    shop = Shop(folder)
    with shop.open() as store:
        project = shop.project(store)
        run = project.begin_run(spider=f"site {HOSTILE}", jobdir=None, started_at=NOON)
        layouts = {str(kind): layout for kind, layout in put_site(project).items()}
        other = {f"https://other.example/{name}": html_page(name, BANNER, HOSTILE, title=HOSTILE) for name in range(6)}
        put(project, other, group="tea")
        for number, url in enumerate([*other, a_url("posts/hemp")]):
            verdict = ("new", "changed", "removed")[number % 3]
            at = NOON + timedelta(seconds=number)
            project.write([VisitRecord(page_key(url), at, "get", verdict, f"because {HOSTILE}")])  # type: ignore[arg-type]
        stats = {"dedup/url/dropped": 9}
        project.end_run(run.id, status="finished", reason="finished", stats=stats, finished_at=NOON)
        project.begin_run(spider="site", jobdir=None, started_at=NOON + timedelta(hours=1))
        alarm = AlarmRecord(DOMAIN, layouts["listing"], f"lost {HOSTILE}", 9, 10, NOON, raised_at=NOON)
        project.write([alarm])
        project.put_picture(StoredPicture(DOMAIN, layouts["article"], a_url("x"), NOON, 10, 10, [], PICTURE))
        with store.session() as session:
            DomainDedupService(session, Settings()).analyze_project(project.id)
        config = SiteConfig(boilerplate_css_selectors=(".bar",), keep_blocks=("9f1c2ab0d4e57768",))
        put_config(project, "other.example", config, Settings(), NOON)
        service = DomainService(project, Settings())
        service.register_domains([DOMAIN, "other.example", "xn--bcher-kva.example", "10.0.0.1:8000"], NOON)
        service.blacklist_domains(["spam.example"], NOON, by=HOSTILE, reason=HOSTILE)
    return shop
