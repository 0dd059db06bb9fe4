"""`scrapy dedup templates analyze-layout URL`: a page in the browser, what of it is content, and why the rest is not.

The page is fetched by a Scrapy run with the project's settings, and cut by what is known of its site; nothing is
stored. DIR gets layout.png, the picture with boxes; layout.html, the same with all figures; and layout.json, what
--json prints.

JSON: `url`, at which the page was found; `cut_by` (template, fallback, whole) and `how`, the same in words; `layout`;
`site_known`; `chars_in`, `chars_out`; `agreement` of what is kept with what looks like content (F1 by characters);
`js_share`, the share of the text that scripts made, null where the page could not be shown with scripts; `fields`
(title, date, author), each with name, value, source, selector, number; `unseen`, texts that nobody sees, each with
reason (not_displayed: a click may open it) and text; `size` of the picture; `boxes`, each with number (of the element
in document order, body is 0), x, y, width, height, kind, label, is_clear; `template`, or null: template and locators
as they are stored, and selectors; `browser`; `refused`, URLs that the page needed and did not get; `files`, by what
they are.
"""

import argparse
import json
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from msgspec import Struct
from scrapy.settings import Settings as ScrapySettings

from scrapy_dedup.commands.call import DONE, Call, CommandError, print_json
from scrapy_dedup.commands.terminal import errors, one_line, print_table, say
from scrapy_dedup.core.pages.blocks import Unparsed, parse_page
from scrapy_dedup.core.teacher import NumberedPage, numbered
from scrapy_dedup.core.templates.templates import selector
from scrapy_dedup.plugin.teacher.run import Web, run_errand
from scrapy_dedup.report.drawing import LayoutPage, draw
from scrapy_dedup.report.layout_picture import boxes_told, size_of
from scrapy_dedup.report.numbers import percent, whole
from scrapy_dedup.report.values import ReportLocator, ReportPicture
from scrapy_dedup.service.policies import parse_limits
from scrapy_dedup.service.stored.refining import KnownSite
from scrapy_dedup.service.stored.template_upkeep import evidence_of
from scrapy_dedup.service.teacher.layout_picture import AnalyzedPage, FoundField, ShownPage, analyze_page
from scrapy_dedup.service.teacher.teaching import NEARLY_EMPTY
from scrapy_dedup.service.views.explain import keys_of
from scrapy_dedup.settings import Settings
from scrapy_dedup.teacher import NotShown, RenderedPage, Showing
from scrapy_dedup.teacher.browser import Browser, Missing, find_browser

_PNG_SIZE: Final = struct.Struct(">II")


class _Looked(Struct):
    """What came of showing a page."""

    page: ShownPage
    shown: RenderedPage
    png: bytes


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the page, and where the files go."""
    parser.add_argument("url", help="the page's address")
    parser.add_argument(
        "-o", "--output", metavar="DIR", type=Path, help="folder of the files; default: named by the host"
    )


def run(call: Call) -> int:
    """Show a page, and write what there is to see."""
    url: str = call.options.url
    keys = keys_of(url, call.settings)
    folder: Path = call.options.output or Path(_folder_name(url))
    _check_folder(folder)
    assert isinstance(call.source, ScrapySettings)
    with call.filled(dry_run=True) as project:
        known = KnownSite.of(project, keys.domain, call.settings)
    looked: list[_Looked] = []
    with browser_of(call.settings) as browser:

        async def look(web: Web) -> None:
            looked.append(await _look(web, url, browser, call))

        with working(f"showing {url}"):
            run_errand(look, call.source, call.settings)
            found = analyze_page(looked[0].page, known.site, call.settings, known.patterns)
            files = _written(folder, found, looked[0], browser)
    told = found.to_json() | {
        "browser": looked[0].shown.browser,
        "refused": list(looked[0].shown.refused),
        "files": {name: str(file) for name, file in files.items()},
    }
    files["json"].write_text(json.dumps(told, indent=1, ensure_ascii=True) + "\n", encoding="ascii")
    if call.options.json:
        print_json(told)
    else:
        _show(found, files)
    return DONE


def _folder_name(url: str) -> str:
    host = urlsplit(url).hostname or "page"
    return "".join(letter if letter.isalnum() or letter in ".-" else "-" for letter in host).strip(".") or "page"


def _check_folder(folder: Path) -> None:
    """Refuse a folder that cannot be made, before anybody is asked for anything."""
    around = folder.absolute()
    existing = next(each for each in (around, *around.parents) if each.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        raise CommandError(f"{folder}: cannot be written in {existing}; name another folder by -o DIR")


async def _look(web: Web, url: str, browser: Browser, call: Call) -> _Looked:
    response = await web.page(url)
    html, at = response.text, response.url
    numbers = _numbered(html, at, call)
    scripted = await web.show(browser, Showing(at, numbers[1], scripts=True, picture=True))
    plain = await web.show(browser, Showing(at, numbers[1], picture=True))
    is_empty = numbers[0].chars < NEARLY_EMPTY and isinstance(scripted, RenderedPage) and scripted.snapshot.js_share > 0
    best = scripted if is_empty else plain
    if isinstance(best, NotShown):
        raise CommandError(
            f"{at} cannot be shown: {best.detail} ({best.reason}); `scrapy dedup doctor` tries the browser"
        )
    assert best.picture is not None
    _, height = _PNG_SIZE.unpack_from(best.picture, 16)
    share = round(scripted.snapshot.js_share, 3) if isinstance(scripted, RenderedPage) else None
    return _Looked(ShownPage(at, html, *numbers, best.snapshot, height, share), best, best.picture)


def _numbered(html: str, url: str, call: Call) -> "tuple[Any, NumberedPage]":
    page = parse_page(html, parse_limits(call.settings))
    if isinstance(page, Unparsed):
        raise CommandError(f"{url} is not parsed: {page.reason}")
    found = numbered(html, page)
    if found is None:
        raise CommandError(f"{url} has too many elements, or is built so that no browser shows what was sent")
    return page, found


def _written(folder: Path, found: AnalyzedPage, looked: _Looked, browser: Browser) -> dict[str, Path]:
    """Write the picture and the page; return where they are, and where the JSON goes."""
    width, height = _PNG_SIZE.unpack_from(looked.png, 16)
    picture = ReportPicture(found.shown.url, looked.png, width, height, found.boxes)
    drawn = browser.draw(draw("layout_drawing.html", picture=picture), *size_of(picture.width, picture.height)).result()
    if isinstance(drawn, NotShown):
        raise CommandError(f"the picture cannot be drawn: {drawn.detail} ({drawn.reason})")
    files = {kind: folder / f"layout.{kind}" for kind in ("png", "html", "json")}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files["png"].write_bytes(drawn)
        files["html"].write_text(draw("layout_page.html", page=_page(found, picture)), encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{folder}: cannot be written ({error.strerror}); name another folder by -o DIR") from error
    return files


def _page(found: AnalyzedPage, picture: ReportPicture) -> LayoutPage:
    template = found.template.template if found.template is not None else None
    verdicts = template.verdicts if template is not None else {}
    dropped = sorted(
        (path for path, one in verdicts.items() if not one.keep), key=lambda path: (-verdicts[path].pages, path)
    )
    containers = template.containers if template is not None else ()
    return LayoutPage(
        picture,
        found.how,
        datetime.now(UTC),
        figures=_figures(found),
        fields=[(field.name, field.value or "", _where(field)) for field in found.fields],
        content=[ReportLocator(selector(path), evidence_of(verdicts.get(path))) for path in containers],
        left_out=[ReportLocator(selector(path), verdicts[path].evidence) for path in dropped],
    )


def _figures(found: AnalyzedPage) -> dict[str, str]:
    cleaned, share = found.cut.cleaned, found.shown.js_share
    return {
        "characters kept": f"{whole(cleaned.chars_out)} of {whole(cleaned.chars_in)}",
        "agreement with what looks like content": f"{found.agreement:.2f}",
        "of the text is made by scripts": "unknown" if share is None else percent(round(1_000 * share), 1_000),
        "texts that nobody sees": whole(len(found.unseen)),
    }


def _where(field: FoundField) -> str:
    if field.value is None:
        return ""
    return f"{field.source}; shown at {field.selector}" if field.selector else f"{field.source}; not shown on the page"


def _show(found: AnalyzedPage, files: dict[str, Path]) -> None:
    say(found.shown.url, "bold", limit=300)
    say(f"Cut by the {found.how}.", limit=300)
    for name, figure in _figures(found).items():
        say(f"{figure} {name}", indent=2)
    say("")
    fields = [(field.name, field.value or "not found", _where(field)) for field in found.fields]
    print_table("Title, date, author", "Field, Value, Where", fields, texts=3)
    say("")
    print_table("Boxes", "What, Why, Boxes", boxes_told(found.boxes), texts=2)
    say("")
    for file in files.values():
        say(str(file))


@contextmanager
def browser_of(settings: Settings) -> Iterator[Browser]:
    """Give the teacher's browser, and end it.

    Raises:
        CommandError: there is none; the message says what to install.
    """
    found = find_browser(settings.teacher_browser)
    if isinstance(found, Missing):
        raise CommandError(f"{found.reason}: {found.command} (`scrapy dedup doctor` checks all parts)")
    with Browser(settings.teacher_browser, timeout=settings.teacher_timeout) as browser:
        yield browser


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show on a terminal that something goes on."""
    console = errors()
    if not console.is_terminal:
        yield
        return
    with console.status(one_line(what, 100)):
        yield
