"""What speaks beside the model: how text looks in a browser, and what was known before a redesign."""

from collections.abc import Mapping

from msgspec import Struct

from scrapy_dedup.core.boilerplate.names import PathLooks
from scrapy_dedup.core.boilerplate.observations import observe
from scrapy_dedup.core.boilerplate.verdict_model import PathVerdict, SiteVerdicts, learn
from tests.core.boilerplate.test_verdict_model import a_model
from tests.core.builders import parsed
from tests.core.learned_sites import article

SEEN = [observe(parsed(article(number))) for number in range(1, 11)]
MENU, TEXT = "body>nav>ul>li", "body>div#wrap>div.main>p"
EVEN = a_model(0.1)
"""It takes all for content, by a little."""


class Known(Struct):
    verdicts: Mapping[str, PathVerdict] = {}
    surrounding: Mapping[int, int] = {}


def learned(**beside: object) -> SiteVerdicts:
    return learn(SEEN, EVEN, **beside)  # type: ignore[arg-type]


def looking(path: str, looks: PathLooks) -> PathVerdict:
    return learned(looks=[{path: looks}]).paths[path]


def test_text_that_no_person_sees_goes() -> None:
    hidden = looking(TEXT, PathLooks(10, 10, 90))

    assert not hidden.keep
    assert hidden.reasons[0] == ("unseen", 1.0)
    assert looking(TEXT, PathLooks(11, 11, 89)).keep


def test_how_text_looks_moves_its_verdict_either_way() -> None:
    assert not looking(TEXT, PathLooks(100, 0, 0)).keep
    assert looking(TEXT, PathLooks(100, 100, 0)).probability > learned().paths[TEXT].probability
    assert looking(TEXT, PathLooks(100, 0, 0)).reasons[0] == ("looks", 0.0)
    assert looking(TEXT, PathLooks(0, 0, 0)) == learned().paths[TEXT]
    assert learned(looks=[{TEXT: PathLooks(100, 0, 0)}]).paths[MENU] == learned().paths[MENU]


def test_after_a_redesign_what_stood_around_the_content_goes_wherever_it_stands_now() -> None:
    cautious = learn(SEEN, a_model([0, 0.5, 0, 1.0, -2.0, 0.0]))
    found = learned(former=Known(surrounding=cautious.surrounding))

    assert cautious.surrounding
    assert not found.paths[MENU].keep
    assert found.paths[MENU].reasons[0] == ("surrounds", 1.0)
    assert found.paths[TEXT].keep


def test_after_a_redesign_paths_that_more_pages_showed_still_speak() -> None:
    def with_former(pages: int) -> float:
        former = PathVerdict(keep=False, probability=0.0, pages=pages, of_pages=pages)
        return learned(former=Known({TEXT: former})).paths[TEXT].probability

    assert with_former(1_000) < 0.5 < with_former(1) == learned().paths[TEXT].probability
