"""The trainer of the model, on a few made sites: what it writes is what it trained, each time the same."""

import json

import pytest

from scrapy_dedup.core.boilerplate.verdict_model import VerdictModel
from tests.core.learned_sites import words

pytest.importorskip("lightgbm", reason="the trainer's library is not installed")
training = pytest.importorskip("benchmarks.train", reason="the benchmarks are not beside these tests")
from benchmarks.marked_sites import MarkedSite, read_folders, rows_of  # noqa: E402
from benchmarks.marked_texts import marked_texts  # noqa: E402


@pytest.fixture(scope="module")
def sites(tmp_path_factory) -> list[MarkedSite]:
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


def test_what_is_marked_within_a_block_s_words_is_content_and_what_is_excluded_is_not(sites):
    page = sites[0].pages[0]

    assert list(page.main) == [0, 0, 0, 0, 0, 1, 1, 0, 0]
    assert page.scored


def test_two_trainings_give_the_same_bytes_and_the_file_says_what_was_trained(sites):
    fitted, again = (training.fit(training.domains_of(sites, drawn_sites=2)) for _ in range(2))
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


def test_domains_are_left_out_whole_and_each_once():
    sites = {f"{name}.example": training.Domain(is_site=True) for name in "abcd"}
    found = training.folds(sites | {"aa.example": training.Domain()}, 3)

    assert sorted(found[name] for name in sites) == [0, 0, 1, 2]
    assert found == {**training.folds(sites, 3), "aa.example": 0}


def test_single_pages_are_learned_from_where_their_text_is_found(tmp_path):
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
    domains = {name: one for name, one in training.domains_of([], texts, drawn_sites=1).items() if not one.is_drawn}

    assert [text.is_aligned for text in texts] == [True] * 21 + [False]
    assert [list(text.page.main) for text in texts[:2]] == [[0, 1]] * 2
    assert set(domains) == {f"news-{number}.example" for number in range(1, 21)}
    assert sum(domain.weight for domain in domains.values()) == pytest.approx(10)
