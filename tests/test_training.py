"""The trainer of the model, on a few made sites: what it writes is what it trained, each time the same."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.boilerplate.verdict_model import VerdictModel
from tests.core.learned_sites import words

pytest.importorskip("lightgbm", reason="the trainer's library is not installed")
training = pytest.importorskip("benchmarks.train", reason="the benchmarks are not beside these tests")
from benchmarks.marked_sites import MarkedSite, read_folders, rows_of  # noqa: E402
from benchmarks.marked_texts import aligned, marked_texts  # noqa: E402


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


@given(
    st.lists(st.sampled_from("menu home share more read next by".split()), max_size=12),
    st.lists(st.sampled_from("alpha beta gamma delta 10 20".split()), min_size=4, max_size=60),
    st.integers(0, 12),
)
def test_words_of_a_text_are_found_where_they_stand_on_a_page(around: list[str], text: list[str], at: int) -> None:
    found = aligned([*around[:at], *text, *around[at:]], text)

    assert found == [False] * len(around[:at]) + [True] * len(text) + [False] * len(around[at:])


def test_a_long_text_is_found_between_what_repeats_parts_of_it() -> None:
    text = words(900, "text").split()
    teaser, page = text[:30], [*text[:30], *words(300, "menu").split(), *text[:450], *words(40, "ad").split()]
    page += [*text[450:], *teaser]
    found = aligned(page, text)

    assert sum(found) == len(text)
    assert not any(found[-30:])


def test_single_pages_are_learned_from_where_their_text_is_found(tmp_path: Path) -> None:
    """A kind of few pages is not; nor is a page whose text is elsewhere."""
    rows = []
    for number in range(22):
        text = words(40, number)
        (tmp_path / f"{number}.html").write_text(f"<body><div>{words(5, 'menu')}</div><article>{text}</article></body>")
        gold = {21: words(40, "other")}.get(number, text)
        kind = "news" if number else "rare"
        url = f"https://news-{number}.example/"
        rows.append({"id": number, "url": url, "html_file": f"{number}.html", "gold_text": gold, "page_type": kind})
    (tmp_path / "set").mkdir()
    lines = [json.dumps(row | {"html_file": f"../{row['html_file']}"}) for row in rows]
    (tmp_path / "set" / "pages.jsonl").write_text("\n".join(lines))
    texts = list(marked_texts(tmp_path))
    domains = training.domains_of([], texts)

    assert [text.is_aligned for text in texts] == [True] * 21 + [False]
    assert [list(text.page.main) for text in texts[:2]] == [[0, 1]] * 2
    assert set(domains) == {f"news-{number}.example" for number in range(1, 21)}
    assert sum(domain.weight for domain in domains.values()) == pytest.approx(10)
