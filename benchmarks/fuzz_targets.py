"""What is fuzzed: each entry point for what comes from outside, with cases to begin with and the law that holds."""

# ruff: noqa: PLC0415 (what is fuzzed is imported where atheris looks into it)

import asyncio
import contextlib
import gzip
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any, Final

_DATA: Final = Path(__file__).parents[1] / "tests" / "data"
MOST_BYTES: Final = 16_384
_PARTS: Final = "\x1f"
"""Between the parts of a case that has several."""

Case = Callable[[bytes], None]


@dataclass(frozen=True, slots=True)
class Target:
    """An entry point.

    Attributes:
        make: makes what runs a case, in a folder of its own.
        seeds: what cases grow from.
        law: what holds for every case.
        most_bytes: of a case, by atheris.
        is_native: what is meant is no Python, so that atheris sees nothing of it.
    """

    make: Callable[[Path], Case]
    seeds: Callable[[], list[bytes]]
    law: str
    most_bytes: int = MOST_BYTES
    is_native: bool = False


class BrokenLawError(Exception):
    """A case was answered, and wrongly."""


def expect(holds: object, *told: object) -> None:
    """Raise where something does not hold."""
    if not holds:
        raise BrokenLawError(*told)


def _text(raw: bytes) -> str:
    # Half characters, too: they come in JSON.
    return raw.decode("utf-8", "surrogateescape")


def _split(raw: bytes, parts: int) -> list[str]:
    found = _text(raw).split(_PARTS, parts - 1)
    return found + [""] * (parts - len(found))


def _joined(*parts: str) -> bytes:
    return _PARTS.join(parts).encode("utf-8", "surrogateescape")


# Targets.


def html(_: Path) -> Case:
    from selectolax.lexbor import LexborHTMLParser

    from scrapy_dedup.core.boilerplate.observations import observe
    from scrapy_dedup.core.pages.blocks import Unparsed, parse_page
    from scrapy_dedup.core.resilience.discovery import read_signposts
    from scrapy_dedup.service.cut.site_cleaning import cut_page
    from scrapy_dedup.settings import Settings

    settings = [Settings().override({"output": form}, "") for form in ("html", "markdown", "text")]
    url = "https://example.org/a/b?c=d"

    def case(raw: bytes) -> None:
        source = _text(raw)
        page = parse_page(source)
        if isinstance(page, Unparsed):
            return
        observe(page)
        read_signposts(source, url)
        chosen = settings[len(raw) % len(settings)]
        content = cut_page(source, page, url, None, chosen).cleaned.content
        if chosen.output == "html":
            drawn = LexborHTMLParser(content.encode("utf-8", "replace").decode())
            expect(not drawn.css("script, style, iframe, object, embed, base, meta, link"), content)
            for node in drawn.css("*"):
                for name, value in node.attributes.items():
                    runs = name.startswith("on") or (value or "").strip().lower().startswith("javascript:")
                    expect(not runs, name, value)

    return case


def url(_: Path) -> Case:
    from w3lib.url import safe_url_string

    from scrapy_dedup.core.domains import domain_name
    from scrapy_dedup.core.urls import normal_form as urls

    def case(raw: bytes) -> None:
        given = _text(raw)
        for rules in (urls.DEFAULT_RULES, urls.LOOSE_RULES):
            normal = urls.normalize_url(given, rules)
            expect(urls.normalize_url(normal, rules) == normal, normal)
            expect(urls.page_key(given, rules) == urls.page_key(normal, rules), normal)
        domain = urls.extract_domain(given)
        expect(urls.extract_domain(urls.normalize_url(given)) == domain, domain)
        expect(domain is None or domain_name(domain) == domain, domain)
        urls.same_site(given, "https://example.org/")
        is_url = urls.split_url(given) is not None
        if is_url and given.isascii():
            # As Scrapy's requests have it.
            safe = safe_url_string(given)
            expect(urls.page_key(urls.without_trackers(safe)) == urls.page_key(safe), safe)
        if is_url and not {"#", "?"} & set(given) and len(given) < 60_000:
            expect(urls.page_key(f"{given.strip(urls.C0_AND_SPACE)}?utm_source=a") == urls.page_key(given), given)
        target = urls.target_of(given, "https://example.org/a/")
        expect(target is None or not set(' "<>\n\t\r\\') & set(target), target)

    return case


def canonical(_: Path) -> Case:
    from scrapy_dedup.core.urls import canonical as judging
    from scrapy_dedup.core.urls.normal_form import page_key, same_site

    def case(raw: bytes) -> None:
        address, href, other, base, lang, language, alternate = _split(raw, 7)
        hrefs = tuple(one for one in (href, other) if one)
        said = judging.Declaration(address, hrefs, base or None, lang or None, ((language, alternate),))
        found = judging.judge(said, judging.CanonicalEvidence(10, 1))
        if isinstance(found, judging.Alias):
            expect(same_site(address, found.target.url), found)
            expect(found.target.page_key != page_key(address), found)
            expect(found.target.page_key == page_key(found.target.url), found)
        judging.redirect_aliases([href, other], address)

    return case


def patterns(_: Path) -> Case:
    from scrapy_dedup.core.errors import DedupError
    from scrapy_dedup.core.pages.marking import check_selector
    from scrapy_dedup.core.patterns import PatternError, compile_expressions
    from scrapy_dedup.service.patterns import read_configs

    def case(raw: bytes) -> None:
        source, second, text = _split(raw, 3)
        with contextlib.suppress(DedupError):
            check_selector(source)
        with contextlib.suppress(DedupError):
            read_configs(text, "example.org")
        try:
            compiled = compile_expressions(one for one in (source, second) if one)
        except PatternError:
            return
        place = 0
        for span in compiled.find(text).spans:
            expect(place <= span.start < span.end <= len(text), span)
            place = span.end

    return case


def warc(folder: Path) -> Case:
    from scrapy_dedup.service.files.inputs import Inputs
    from scrapy_dedup.service.files.inputs_records import BadRecord, InputError, InputPage, NoPage
    from scrapy_dedup.service.packed_files import FileRefusedError
    from scrapy_dedup.settings import Settings

    settings = Settings().override({"max_page_bytes": 20_000}, "")
    files = [folder / f"in.{ending}" for ending in ("warc", "jsonl")]

    def case(raw: bytes) -> None:
        for file in files:
            file.write_bytes(raw)
            try:
                with Inputs([str(file)], sys.stdin.buffer) as inputs:
                    for one in inputs.records(settings, lambda _: None):
                        page = one if isinstance(one, BadRecord | NoPage) else one.page(settings)
                        expect(isinstance(page, BadRecord | NoPage | InputPage), page)
            except (InputError, FileRefusedError):
                pass

    return case


def sitemap(_: Path) -> Case:
    from scrapy_dedup.core.resilience.discovery import (
        SitemapLimits,
        parse_lastmod,
        read_feed,
        read_sitemap,
        sitemaps_of_robots,
    )

    limits = SitemapLimits(bytes=MOST_BYTES, entries=20, elements=500, names=50)
    address = "https://example.org/a/sitemap.xml"

    def case(raw: bytes) -> None:
        for found in (read_sitemap(raw, address, limits), read_feed(raw, address, limits)):
            for entries in (found.pages, found.children):
                urls = [one.url for one in entries]
                expect(len(urls) <= limits.entries and len(set(urls)) == len(urls), urls)
                expect(all(one.lower().startswith(("http://", "https://")) for one in urls), urls)
                expect(all(one.lastmod is None or one.lastmod.utcoffset() is not None for one in entries), entries)
        expect(all(one.lower().startswith("http") for one in sitemaps_of_robots(raw, address)), raw)
        parse_lastmod(raw[:100].decode("latin-1"))

    return case


def imports(folder: Path) -> Case:
    from scrapy_dedup.core.domains import domain_name
    from scrapy_dedup.core.errors import DedupError
    from scrapy_dedup.service.cache import content_index
    from scrapy_dedup.service.domains.candidates import read_proposals
    from scrapy_dedup.service.domains.files import DomainRow, read_rows
    from scrapy_dedup.service.stored.template_upkeep import TemplateFileError, read_templates
    from scrapy_dedup.settings import Settings
    from scrapy_dedup.store.store import Store

    store = Store.open("sqlite://")
    project, settings, at = store.project("fuzz"), Settings(), datetime(2026, 1, 1, tzinfo=UTC)
    extractions = folder / "extractions"
    extractions.mkdir()

    def case(raw: bytes) -> None:
        lines = raw.decode("utf-8", "replace").splitlines(keepends=True)
        for row in read_rows(lines, "file"):
            expect(not isinstance(row, DomainRow) or domain_name(row.name) == row.name, row)
        for _ in read_proposals(BytesIO(raw), "file", "engine"):
            pass
        with contextlib.suppress(TemplateFileError):
            read_templates(_text(raw), at)
        # Sealed, so that what stands behind the seal is looked at.
        head = raw.rstrip().removesuffix(b"}").rstrip()
        seal = sha256(head + b"\n}").hexdigest().encode()
        (extractions / "0123456789ab.json").write_bytes(head + b',\n "checksum": "' + seal + b'"\n}\n')
        (extractions / "0123456789ac.json").write_bytes(raw)
        with contextlib.suppress(DedupError):
            content_index.import_cache(project, folder, settings, lambda _: None, dry_run=True)

    return case


def model(folder: Path) -> Case:
    from scrapy_dedup.core.boilerplate.path_features import FIGURES
    from scrapy_dedup.core.boilerplate.verdict_model import ModelError, figures_hash
    from scrapy_dedup.core.teacher import Snapshot, SnapshotError
    from scrapy_dedup.service.model_file import read_model

    file = folder / "model.json"
    node = _Node()

    def case(raw: bytes) -> None:
        file.write_bytes(raw.replace(b"FIGURES", figures_hash().encode()))
        with contextlib.suppress(ModelError):
            for judged in read_model(file).judge({node: [0.0] * len(FIGURES)}).values():  # type: ignore[dict-item]
                expect(0.0 <= judged.probability <= 1.0, judged)
                tuple(judged.reasons)
        with contextlib.suppress(ValueError, RecursionError):
            answer = json.loads(raw)
            with contextlib.suppress(SnapshotError):
                Snapshot.from_json(answer)

    return case


class _Node:
    """Stands for a path of a page."""

    tokens = above = ("nav",)


def rest(folder: Path) -> Case:
    from scrapy_dedup.core.addresses import hosts_of
    from scrapy_dedup.service.jobs import Jobs
    from scrapy_dedup.settings import Settings
    from scrapy_dedup.web.app import make_app
    from scrapy_dedup.web.security import Access
    from scrapy_dedup.web.server import Server
    from tests.commands.running import PROJECT
    from tests.web.served import PORT, SETTINGS, TOKEN, fill

    kept = contextlib.ExitStack()
    store = kept.enter_context(fill(folder).open())
    jobs = kept.enter_context(contextlib.closing(Jobs(most_waiting=3)))
    server = Server(store, Settings.read(SETTINGS), PROJECT, jobs, folder=folder)
    app = make_app(server, Access(TOKEN, hosts_of("127.0.0.1", PORT, ()), requests_a_minute=10**9))
    loop = asyncio.new_event_loop()

    def case(raw: bytes, kept: contextlib.ExitStack = kept) -> None:  # noqa: ARG001 (it is held as long as the case)
        method, path, query, kind, body = _split(raw, 5)
        if "dry_run=true" not in query and path.rstrip("/").endswith(f"/projects/{PROJECT}"):
            query = "dry_run=true"
        if path.rstrip("/").endswith(("/refine", "/learn")):
            return
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": method[:20].upper() or "GET",
            "scheme": "http",
            "path": f"/{path.lstrip('/')}",
            "raw_path": f"/{path.lstrip('/')}".encode("utf-8", "replace"),
            "query_string": query.encode("utf-8", "replace"),
            "root_path": "",
            "headers": [
                (b"host", f"127.0.0.1:{PORT}".encode()),
                (b"authorization", f"Bearer {TOKEN}".encode()),
                (b"content-type", kind.encode("latin-1", "replace")),
            ],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", PORT),
        }
        status, sent = loop.run_until_complete(_asked(app, scope, body.encode("utf-8", "surrogateescape")))
        expect(status < 500 or status == 503, status, sent)
        if path.lstrip("/").startswith("api/") and sent and not path.endswith("picture"):
            json.loads(sent)

    return case


async def _asked(app: Any, scope: dict[str, Any], body: bytes) -> tuple[int, bytes]:
    """Return status and body that an application of ASGI answers."""
    status, parts = 0, []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        else:
            parts.append(message.get("body", b""))

    await app(scope, receive, send)
    return status, b"".join(parts)


def headers(_: Path) -> Case:
    from scrapy_dedup.core.addresses import hosts_of, may_fetch
    from scrapy_dedup.core.pages.declared import read_directives
    from scrapy_dedup.service.files.inputs_records import decoded
    from scrapy_dedup.service.files.warc_records import HttpAnswer
    from scrapy_dedup.service.packed_files import EncodingError, unpacked

    hosts = hosts_of("127.0.0.1", 80, ("crawls.example.org",))

    def case(raw: bytes) -> None:
        first, _, rest = raw.partition(_PARTS.encode())
        value = first.decode("latin-1")
        read_directives([value], [value])
        expect(isinstance(decoded(rest, value), str), value)
        with contextlib.suppress(EncodingError):
            expect(len(unpacked(rest, value, 50_000)) <= 50_000, value)
        answer = HttpAnswer.parse(raw)
        if answer is not None:
            with contextlib.suppress(EncodingError):
                expect(len(answer.content(50_000)) <= 50_000, raw)
            for payload in answer.payloads(50_000):
                expect(len(payload) <= 50_000, raw)
        hosts.knows(value)
        hosts.sends(value)
        if may_fetch(_text(first), "https://example.org/", ["10.0.0.1"]) is None:
            from scrapy_dedup.core.urls.normal_form import extract_domain

            expect(extract_domain(_text(first)) in ("example.org", None), value)

    return case


def lexbor(_: Path) -> Case:
    from scrapy_dedup.service.cleaner import clean

    def case(raw: bytes) -> None:
        clean(_text(raw), "https://example.org/a")

    return case


def pdf(_: Path) -> Case:
    from scrapy_dedup.service.pdf.reading import PdfLimits, PdfReader, UnreadPdf

    reader = PdfReader(PdfLimits())

    def case(raw: bytes) -> None:
        found = reader.read(raw)
        expect(isinstance(found, UnreadPdf) or sum(len(one.text) for one in found.blocks) < 10_000_000, found)

    return case


def restore(folder: Path) -> Case:
    from scrapy_dedup.store.engine.copying import copy_store
    from scrapy_dedup.store.engine.errors import StoreError

    old, new = folder / "old.db", folder / "new.db"

    @contextlib.contextmanager
    def progress(_name: str, _total: int) -> Iterator[Callable[[int], None]]:
        yield lambda _: None

    def case(raw: bytes) -> None:
        old.write_bytes(raw)
        try:
            copy_store(f"sqlite:///{old}", f"sqlite:///{new}", timedelta(seconds=1), progress)
        except StoreError:
            expect(not new.exists(), "a store is left behind")
        new.unlink(missing_ok=True)

    return case


# What cases grow from.


def _files(*patterns_: str) -> list[bytes]:
    return [file.read_bytes()[: 4 * MOST_BYTES] for one in patterns_ for file in sorted(_DATA.glob(one))]


def _texts(value: Any) -> Iterator[str]:
    """Iterate over all texts in a value of JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


def _strings(*patterns_: str) -> list[bytes]:
    return [one.encode("utf-8", "replace") for raw in _files(*patterns_) for one in set(_texts(json.loads(raw)))]


def _html_seeds() -> list[bytes]:
    from hypothesis import Phase, given, settings

    from tests.core.html_soup import soups

    found: list[bytes] = []

    @settings(max_examples=60, database=None, derandomize=True, phases=[Phase.generate], deadline=None)
    @given(soups)
    def note(soup: str) -> None:
        found.append(soup.encode("utf-8", "replace"))

    note()
    return found + _files("pages/*.html", "snapshots/*.html")


def _canonical_seeds() -> list[bytes]:
    own = "https://example.org/a?b=1"
    return [
        _joined(own, "/a", "", "", "en", "de", "/de/a"),
        _joined(own, "https://www.example.org/x", "/y", "/base/", "", "x-default", ""),
        _joined("https://example.org/a?page=2", "https://example.org/a", "", "", "", "", ""),
        *(_joined(own, one.decode("utf-8", "replace"), "", "", "", "", "") for one in _strings("urls/canonical.json")),
    ]


def _pattern_seeds() -> list[bytes]:
    text = "Copyright 2026 Example. All rights reserved.\nRead more\nMail: a@b.example\n"
    sources = (r"copyright \d{4} .* rights", r"(?i)read\s+more", r"[\w.]+@\w+", r"(a|b)*c{2,5}", r"\bx\Z", r"^\S+$")
    config = '{"boilerplate_css_selectors": [".bar", "#a > b"], "boilerplate_regex": ["x+"]}'
    return [_joined(one, r"\d+", text) for one in sources] + [_joined("div.a > p:not(.b)", "", config)]


def _warc_seeds() -> list[bytes]:
    from benchmarks.warc_damage import PACKINGS, a_page, a_record

    random = Random(1)
    records = [a_record(random, *a_page(random, number)) for number in range(6)]
    line = json.dumps({"url": "https://example.org/a", "html": "<p>one</p>", "body": "PHA+"}).encode() + b"\n"
    packed = [pack(one) for pack in PACKINGS.values() for one in records]
    return [*packed, b"".join(records[:2]), line * 2, PACKINGS["gzip"](line)]


def _sitemap_seeds() -> list[bytes]:
    feed = {"items": [{"url": "/a", "date_modified": "2026-01-01", "title": "A"}, {"id": "https://example.org/b"}]}
    return [*_files("sitemaps/*"), *_strings("sitemaps/dates.json"), json.dumps(feed).encode()]


def _import_seeds() -> list[bytes]:
    from scrapy_dedup.service.cache import content_index
    from scrapy_dedup.service.stored.template_upkeep import export_templates
    from tests.commands.running import PROJECT
    from tests.web.served import fill

    at = datetime(2026, 1, 1, tzinfo=UTC).isoformat()
    found = [
        b'domain_name,status,blacklist_reason\na.example,BLACKLISTED,\'=1+1\n"b.example",,"two\nlines"\n',
        b"a.example\n# a comment\nhttps://b.example/x\n",
        json.dumps({"domain": "a.example", "status": "NEW", "pages": 3, "last_crawled_at": at}).encode(),
        json.dumps([{"url": "https://a.example/", "engine": "e", "confidence": 0.5, "rank": 1}]).encode(),
        json.dumps({"url": "https://a.example/", "content": ["a", "b"], "extraction_timestamp": at}).encode(),
    ]
    with tempfile.TemporaryDirectory() as name, fill(Path(name)).open() as store:
        project = store.project(PROJECT)
        found.append(json.dumps(export_templates(project)).encode())
        content_index.export_cache(project, Path(name) / "tree", lambda _: None)
        found += [one.read_bytes().replace(b',\n "checksum"', b"") for one in (Path(name) / "tree").rglob("*.json")][:8]
    return found


def _model_seeds() -> list[bytes]:
    from scrapy_dedup.core.boilerplate.path_features import FIGURES
    from scrapy_dedup.core.boilerplate.verdict_model import VERSION

    tree = [0, 0.5, 1, 0.1, [1, 2, 0, -0.5, 0.5, 0.0], 0.2]
    stored = {"version": VERSION, "figures": "FIGURES", "columns": [*list(FIGURES)[:2], "named:nav", "in:nav"]}
    stored |= {"trees": [tree, 0.25], "scale": 1.0, "shift": 0.0, "made": {}}
    return [json.dumps(stored).encode(), *_files("snapshots/*.json")]


def _rest_seeds() -> list[bytes]:
    from scrapy_dedup.web.openapi import rest_description

    named = {"project": "shop", "domain": "other.example", "layout": "rest", "run": "1", "job": "1"}
    found = []
    for path, operations in rest_description()["paths"].items():
        for method, operation in operations.items():
            content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            examples = {one["name"]: one["schema"].get("examples", [""])[0] for one in operation.get("parameters", ())}
            query = "&".join(f"{name}={value}" for name, value in examples.items() if name not in named)
            kind = "application/json" if content else ""
            body = json.dumps(content.get("example")) if content else ""
            found.append(_joined(method, path.format_map(named), query, kind, body))
    form = "application/x-www-form-urlencoded"
    return [
        *found,
        _joined("POST", "/login", "", form, "token=a&next=/p/"),
        _joined("GET", "/p/shop/", "sort=pages", "", ""),
    ]


def _header_seeds() -> list[bytes]:
    whole = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Encoding: gzip\r\n\r\n"
    chunks = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    texts = ("noindex, unavailable_after: 25 Jun 2030", "googlebot: none", "text/html; charset=utf-16", "gzip, deflate")
    page, mark = gzip.compress(b"<p>page</p>" * 9), _PARTS.encode()
    return [
        whole + page,
        chunks,
        b"gzip" + mark + page,
        b"br" + mark + b"\x0b\x02\x80abc\x03",
        *_strings("cases/addresses/*.json"),
    ] + [one.encode() + mark + b"<meta charset=latin1><p>caf\xe9" for one in texts]


def _pdf_seeds() -> list[bytes]:
    from tests.pdf_files import a_pdf, column

    pages = [column(["A title", "Some text of a page", "and more of it"]), column(["Second page"], left=200.0)]
    return [a_pdf(pages, facts={"Title": "T"}), a_pdf(pages, rotate=90), a_pdf(pages, is_encrypted=True)]


def _restore_seeds() -> list[bytes]:
    from tests.web.served import fill

    with tempfile.TemporaryDirectory() as name:
        with fill(Path(name)).open():
            pass
        # What waits in the log is in the file once it was closed.
        return [one.read_bytes() for one in Path(name).rglob("*.db")]


TARGETS: Final[dict[str, Target]] = {
    "html": Target(
        html,
        _html_seeds,
        "A page is refused, or cut, observed and drawn in each form; no HTML that is drawn runs anything.",
        # A page of 2,000 bytes takes a tenth of the time, and has all that a larger one has.
        most_bytes=2_000,
    ),
    "url": Target(
        url,
        partial(_strings, "urls/*.json", "domains/*.json"),
        "A normal form is its own normal form, has the page's key and domain, and a tracking parameter changes none.",
    ),
    "canonical": Target(
        canonical,
        _canonical_seeds,
        "What a page declares is believed only of its own site, and never of the page itself.",
    ),
    "patterns": Target(
        patterns,
        _pattern_seeds,
        "An expression is refused by PatternError, or searched within a bound: spans in order, inside of the text.",
    ),
    "warc": Target(
        warc,
        _warc_seeds,
        "A file gives pages, and says what is bad in it: nothing else comes out, and no body larger than it may be.",
    ),
    "sitemap": Target(
        sitemap,
        _sitemap_seeds,
        "A sitemap or feed gives http(s) addresses, each once and no more than are let in, or says what is wrong.",
    ),
    "imports": Target(
        imports,
        _import_seeds,
        "Domains, results, templates, configurations, pages: read, or refused by the documented error.",
    ),
    "model": Target(model, _model_seeds, "A model's file is refused by ModelError, or judges a page."),
    "rest": Target(rest, _rest_seeds, "Every request is answered with JSON or a page, and with no 5xx but 503."),
    "headers": Target(
        headers,
        _header_seeds,
        "Headers, encodings and directives are read without raising, and no body unpacks to more than it may.",
    ),
    "lexbor": Target(
        lexbor,
        _html_seeds,
        "Any HTML is parsed or refused, and its marks, signposts and metadata are read, in bounded time and memory.",
        is_native=True,
    ),
    "re2": Target(patterns, _pattern_seeds, "Likewise, whatever is mutated.", is_native=True),
    "pdf": Target(
        pdf,
        _pdf_seeds,
        "A PDF gives text, or the reason why not: whatever PDFium does ends its own process alone.",
        is_native=True,
    ),
    "restore": Target(
        restore,
        _restore_seeds,
        "A damaged backup is refused by StoreError and leaves no store behind, or is copied whole.",
        is_native=True,
    ),
}
