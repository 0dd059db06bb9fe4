"""The trainer of the model, on a few made sites: what it writes is what it trained, each time the same."""

import json

import numpy as np
import pytest

from scrapy_dedup.core.verdict_model import VerdictModel
from tests.core.learned_sites import words

pytest.importorskip("lightgbm", reason="the trainer's library is not installed")
training = pytest.importorskip("benchmarks.train", reason="the benchmarks are not beside these tests")
from benchmarks.marked_sites import MarkedSite, read_folders, rows_of  # noqa: E402


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> list[MarkedSite]:
    """Ten sites, whose menus are called alike and whose content is not."""
    folder = tmp_path_factory.mktemp("sites")
    for site in range(10):
        own = folder / f"site-{site}"
        own.mkdir()
        for number in range(8):
            menu = "".join(f"<li><a href=/{item}>{words(1, (site, item))}</a></li>" for item in range(5))
            text = f"<h1>{words(3, (site, number, 't'))}</h1><p>{words(40, (site, number))}</p><p class=by>Ann Lee</p>"
            (own / f"{number}.html").write_text(
                f"<body><div class=menu><ul>{menu}</ul></div><div class=c{chr(97 + site)}>{text}</div>"
                f"<div class=footer>{words(12, site)}</div></body>"
            )
        pages = [{"url": f"https://site-{site}.example/{number}", "file": f"{number}.html"} for number in range(8)]
        gold = {"main": f".c{chr(97 + site)}", "exclude": [".by"]}
        manifest = {"name": own.name, "domain": f"site-{site}.example", "kind": "blog", "pages": pages, "gold": gold}
        (own / "manifest.json").write_text(json.dumps(manifest))
    return read_folders([folder])


def test_what_is_marked_within_a_block_s_words_is_content_and_what_is_excluded_is_not(sites: list[MarkedSite]) -> None:
    page = sites[0].pages[0]

    assert list(page.main) == [0, 0, 0, 0, 0, 1, 1, 0, 0]
    assert page.scored


def test_two_trainings_give_the_same_bytes_and_the_file_says_what_was_trained(sites: list[MarkedSite]) -> None:
    fitted, again = training.fit(training.domains_of(sites)), training.fit(training.domains_of(sites))
    text = training.written(training.to_json(fitted, 1.0, 0.0, {}))
    model = VerdictModel.from_json(json.loads(text))

    assert text == training.written(training.to_json(again, 1.0, 0.0, {}))
    for pages in (sites[3].pages, sites[3].pages[:1]):
        found = rows_of(pages)
        judged = model.judge(
            {node: tuple(map(float, row)) for node, row in zip(found.nodes, found.features, strict=True)}
        )
        for node, odds in zip(found.nodes, fitted.odds(found), strict=True):
            assert judged[node].odds == pytest.approx(odds, abs=0.01)


def test_domains_are_left_out_whole_and_each_once() -> None:
    sites = {f"{name}.example": training.Domain(is_site=True) for name in "abcd"}
    found = training.folds(sites | {"aa.example": training.Domain()}, 3)

    assert sorted(found[name] for name in sites) == [0, 0, 1, 2]
    assert found == {**training.folds(sites, 3), "aa.example": 0}


def test_probabilities_are_laid_beside_what_is_so() -> None:
    """A model that says what is so is on the diagonal; one that is sure and wrong is off by all of its text."""
    reliability = pytest.importorskip("benchmarks.reliability")
    said, weights = np.array([0.05, 0.95, 0.92, 0.55]), np.array([1.0, 1.0, 3.0, 0.0])

    right = reliability.bins_of(said, said, weights)
    wrong = reliability.bins_of(said, 1 - said.round(), weights)

    assert [(round(one.said, 4), round(one.share, 2)) for one in right] == [(0.05, 0.2), (0.9275, 0.8)]
    assert reliability.distance(right) == pytest.approx(0)
    assert reliability.distance(wrong) == pytest.approx(0.2 * 0.95 + 0.8 * 0.9275)
    assert reliability.draw({60: right, 1: wrong}).count("<circle") == 2 * 2 + 2
