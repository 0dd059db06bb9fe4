from collections.abc import Callable, Iterable
from random import Random

from scrapy_dedup.core.boilerplate.observations import observe
from scrapy_dedup.core.boilerplate.verdict_model import SiteVerdicts, learn
from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.service.model_file import verdict_model
from tests.core.builders import parsed

_LETTERS = "abcdefghijklmnop"


def words(number: int, seed: object) -> str:
    """Return some words that no other seed gives."""
    random = Random(str(seed))
    return " ".join("".join(random.choices(_LETTERS, k=random.randint(3, 9))) for _ in range(number))


def article(number: int, *, before: str = "", within: str = "", after: str = "", text: str | None = None) -> str:
    """Return a page: menu, header, main column with title and text, sidebar, footer; with more HTML at three places."""
    text = f"<p>{words(60, number)}</p><p>{words(50, -number)}</p>" if text is None else text
    return (
        "<nav><ul><li><a href=/>Home</a><li><a href=/a>About us</a></ul></nav><header>The site of all things</header>"
        f"<div id=wrap><div class=main>{before}<h1>{words(3, (number, 'title'))}</h1>{text}{within}</div>"
        f"<div class=side><h3>Latest</h3><a href=/x>{words(3, 'x')}</a></div></div>{after}"
        "<footer>All rights reserved by the owners of this site, who are many</footer>"
    )


def site(make: Callable[[int], str] = article, pages: int = 10) -> list[Page]:
    return [parsed(make(number)) for number in range(1, pages + 1)]


def learned(pages: Iterable[Page]) -> SiteVerdicts:
    return learn([observe(page) for page in pages], verdict_model())
