"""Pages of the dashboard as they are drawn, and what is allowed to stand in one."""

from html.parser import HTMLParser

from scrapy_dedup.report.drawing import draw
from scrapy_dedup.web.dashboard.frame import Flash, Nav

NAV = Nav("1", "shop", (("1", "shop"),))
VOID = {"meta", "link", "input", "br", "img"}


def drawn(template: str, *, nav: Nav = NAV, flash: Flash | None = None, **values: object) -> str:
    return draw(template, nav=nav, csrf_token="token", flash=flash, **values)


class Checked(HTMLParser):
    """Fails where a tag is not closed, or where an attribute is none of ours."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not [name for name, _ in attrs if name.startswith("on") or name == "style"], tag
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def checked(html: str) -> Checked:
    """Return a document's elements; scripts, pictures and frames come from the server alone, links lead to the web."""
    found = Checked()
    found.feed(html)
    assert found.open == []
    for tag, attributes in found.seen:
        source = attributes.get("src") or ""
        assert tag != "script" or source.startswith("/static/")
        assert tag != "img" or source.startswith("/p/")
        assert tag != "iframe" or (source.startswith("/p/") and "sandbox" in attributes)
        assert tag not in ("object", "embed", "style", "base")
        target = attributes.get("href") or attributes.get("action") or ""
        assert target.startswith(("/", "#", "?", "http://", "https://", "data:,")) or not target
    return found
