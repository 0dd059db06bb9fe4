"""A page that asks for something elsewhere in every way that there is; each names itself in what it asks for."""

from collections.abc import Iterable
from pathlib import Path

_PAGES = Path(__file__).parents[1] / "data" / "pages" / "hostile"


def hostile_page(places: Iterable[str], *, scripts: bool) -> str:
    """Return a page that wants something of each `host:port`."""
    names = ("without_scripts", "with_scripts") if scripts else ("without_scripts",)
    written = "".join((_PAGES / f"{name}.html").read_text(encoding="utf-8") for name in names)
    return "".join(written.replace("{there}", place) for place in places)
