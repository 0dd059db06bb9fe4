"""A site that a test changes between two crawls, and a look at what a crawl asked of it and left in the store."""

import hashlib
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.end_to_end.crawling import Crawled, Lines, Project
from tests.server import Answer, Site, WebServer
from tests.sites import prose

HOME = ""
"""The name of the page that links to all others."""


def validators_of(body: str) -> dict[str, str]:
    return {"ETag": f'"{hashlib.sha256(body.encode()).hexdigest()[:16]}"'}


class ChangingSite:
    """A home page and the pages that it links to; `publish` puts what was changed on the server."""

    def __init__(self, server: WebServer, pages: int = 6, *, validators: bool = True) -> None:
        self.server = server
        self.origin = server.origins[0]
        self.names = [f"p{number}" for number in range(pages)]
        self.versions: dict[str, object] = {}
        """Another one makes other text."""
        self.titles: dict[str, str] = {}
        self.notes: dict[str, str] = {}
        """What stands below a page's text."""
        self.heads: dict[str, str] = {}
        self.menu: list[str] = []
        self.others: Site = {}
        """Answers by path; they win."""
        self.validators = validators
        self.publish()

    def url(self, name: str) -> str:
        return f"{self.origin}/{name}"

    def html(self, name: str) -> str:
        links = "".join(f'<li><a href="/{one}">All about {one}</a></li>' for one in self.names) if not name else ""
        menu = "".join(f'<li><a href="/{one}">{one}</a></li>' for one in self.menu)
        text = prose((name, self.versions.get(name)), sentences=40)
        return (
            f"<!doctype html><title>{self.titles.get(name, f'On {name}')}</title>{self.heads.get(name, '')}"
            f"<nav><ul><li><a href='/'>Home</a></li>{menu}</ul></nav>"
            f"<main><h1>On {name}</h1><p>{text}</p>{self.notes.get(name, '')}<ul>{links}</ul></main>"
            f"<footer><p>Published by the harbour office, no part may be copied.</p></footer>"
        )

    def publish(self, **changes: Any) -> None:
        """Put the site on the server, after some changes of attributes; what was asked is forgotten."""
        for name, value in changes.items():
            setattr(self, name, value)
        site: Site = {}
        for name in (HOME, *self.names, *self.menu):
            body = self.html(name)
            site[self.url(name)] = Answer(body, headers=validators_of(body) if self.validators else {})
        self.server.site = site | {f"{self.origin}{path}": answer for path, answer in self.others.items()}
        self.server.requests.clear()

    @property
    def asked(self) -> Counter[str]:
        """How often each page of the site was asked for since it was published."""
        return Counter(url for url in self.server.requests if url in self.server.site)

    @property
    def everything(self) -> set[str]:
        return set(self.server.site)

    def crawl(self, project: Project, spider: str = "walker", *arguments: str, **settings: Any) -> Crawled:
        return project.crawl(spider, "-a", f"start={self.url(HOME)}", *arguments, **settings)

    def names_of(self, lines: Lines) -> list[str]:
        prefix = f"{self.origin}/"
        return sorted(str(line.get("id") or line["url"]).removeprefix(prefix) for line in lines)


def copied(project: Project, folder: Path) -> Project:
    """Return a project that has crawled what another one has."""
    shutil.copytree(project.folder, folder)
    return Project(folder, dict(project.settings))


def verdicts(crawled: Crawled) -> dict[str, int]:
    found = {word: crawled.count(f"unchanged/{word}") for word in ("new", "changed", "unchanged")}
    return {word: count for word, count in found.items() if count}


def statuses(crawled: Crawled) -> dict[str, int]:
    """Return how many responses had which status, without robots.txt and probes for error pages."""
    prefix = "downloader/response_status_count/"
    found = {name.removeprefix(prefix): count for name, count in crawled.stats.items() if name.startswith(prefix)}
    probes = crawled.count("soft_404/probes")
    if probes and found.get("404"):
        found["404"] -= probes
    # Scrapy counts the pages that are handed on in their place.
    found["304"] = crawled.count("unchanged/not_modified")
    found["200"] = found.get("200", 0) - found["304"]
    return {status: count for status, count in found.items() if count}


def reports_of(crawled: Crawled, key: str) -> set[Any]:
    return {line["report"].get(key) for line in crawled.stored}


def rows(project: Project, query: str, *values: object) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(project.folder / ".scrapy" / "dedup.db")) as store:
        return [tuple(row) for row in store.execute(query, values)]


def execute(project: Project, statements: Iterable[str]) -> None:
    with closing(sqlite3.connect(project.folder / ".scrapy" / "dedup.db")) as store:
        for statement in statements:
            store.execute(statement)
        store.commit()


def let_pass(project: Project, days: float) -> None:
    """Make everything in the project's store older: a crawl of tomorrow, today."""
    tables = [name for (name,) in rows(project, "SELECT name FROM sqlite_master WHERE type = 'table'")]
    statements = []
    for table in tables:
        times = [row[1] for row in rows(project, f"PRAGMA table_info({table})") if row[2] == "DATETIME"]
        earlier = [f"{time} = strftime('%Y-%m-%d %H:%M:%f', {time}, '-{days * 86_400:.0f} seconds')" for time in times]
        if earlier:
            statements.append(f"UPDATE {table} SET {', '.join(earlier)}")
    execute(project, statements)
