"""Layers that are off, that are in the shadow, and chunks that leave as items of their own."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from scrapy_dedup.store.store import Store
from tests.end_to_end.crawling import ADDON, Crawled, Project
from tests.hospital.outcomes import given, known, reports_of
from tests.hospital.site import FEW, ORIGIN, a_content, addresses, rows, served, site
from tests.server import Answer
from tests.service.files.test_run import Done

COMPARING = ("title", "duplicate", "near_duplicate", "chunk", "language")
OFF = {"DEDUP_LAYERS": dict.fromkeys(COMPARING, False)}
CRAWLS: dict[str, dict[str, Any]] = {
    "on": {},
    "off": OFF,
    "shadow": {"DEDUP_SHADOW": list(COMPARING)},
    "as-items": {"DEDUP_CHUNK": {"emit": True}, "DEDUP_NEAR_DUPLICATE": "drop"},
}
NL = frozenset(["nl"])


SERVED = 1, lambda origins: served(site(FEW, origins[0]))


@pytest.fixture(scope="module")
def urls(server) -> list[str]:
    pages = {url: answer for url, answer in server.site.items() if isinstance(answer, Answer)}
    return addresses(pages, FEW)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("switches")


@pytest.fixture(scope="module")
def crawls(server, urls, folder) -> dict[str, Crawled]:
    """One page after the other, so that two crawls differ by their settings alone."""
    start = f"start={' '.join(urls)}"
    settings = {**ADDON, "DEDUP_LANGUAGES": ["nl"], "DEDUP_ITEM_DETAILS": ["chunks"], "CONCURRENT_REQUESTS": 1}
    return {
        # Items of chunks come from no callback.
        name: Project(folder / name, {**settings, **own}).crawl("hospital", "-a", start, clean=name != "as-items")
        for name, own in CRAWLS.items()
    }


def texts_of(crawled: Crawled) -> dict[str, str]:
    return {item["url"]: item["cleaned_content"] for item in crawled.fed if "cleaned_content" in item}


def chunks_of(chunks: list[dict[str, Any]]) -> Counter[tuple[str, str, str | None]]:
    return Counter((chunk["hash"], chunk["state"], chunk.get("text")) for chunk in chunks)


def counted(crawled: Crawled, prefix: str = "") -> set[str]:
    names = [name.removeprefix(f"dedup/{prefix}") for name in crawled.stats if name.startswith(f"dedup/{prefix}")]
    return {name.split("/")[0] for name in names}


def test_layers_that_are_off_count_nothing(crawls):
    assert not counted(crawls["off"]) & {*COMPARING, "chunks", "shadow"}
    assert not any(key in item["dedup"] for item in crawls["off"].fed for key in ("chunks", "near_duplicate"))


class TestShadow:
    def test_of_all_new_layers_leaves_the_output_as_if_they_were_off(self, crawls):
        assert texts_of(crawls["shadow"]) == texts_of(crawls["off"])
        assert not counted(crawls["shadow"]) & set(COMPARING)
        assert not any("near_duplicate" in item["dedup"] for item in crawls["shadow"].fed)

    def test_gives_all_chunks(self, crawls):
        chunks = [chunk for item in crawls["shadow"].fed for chunk in item["dedup"]["chunks"]]

        assert {chunk["state"] for chunk in chunks} == {"added"}
        assert crawls["shadow"].count("chunks/in") == crawls["shadow"].count("chunks/out") == len(chunks)

    def test_counts_what_each_layer_would_have_done(self, crawls):
        """Each for itself: pages with one title and text are duplicates, too, and near-duplicates."""
        count = crawls["shadow"].count
        same_title, same_text = FEW.dropped["title"], FEW.dropped["duplicate"]

        assert counted(crawls["shadow"], "shadow/") == set(COMPARING)
        assert count("shadow/title/items") == same_title
        assert count("shadow/duplicate/items") == same_title + same_text
        assert count("shadow/near_duplicate/items") == same_title + same_text + FEW.editions
        assert count("shadow/language/chunks") == FEW.french + FEW.german

    def test_writes_down_what_it_found(self, crawls, folder):
        with Store.open(f"sqlite:///{folder}/shadow/.scrapy/dedup.db") as store:
            project = store.project("scrapybot")
            keys = [bytes.fromhex(item["dedup"]["visited"]) for item in crawls["shadow"].fed]
            decisions = [decision for key in keys for decision in project.decisions(key)]

        said = Counter(decision.layer for decision in decisions if decision.action == "shadow")
        count = crawls["shadow"].count
        assert {layer: said[layer] for layer in COMPARING[:3]} == {
            layer: count(f"shadow/{layer}/items") for layer in COMPARING[:3]
        }


class TestChunkItems:
    def test_are_the_chunks_that_pages_else_carry_and_change_no_count_of_pages(self, crawls):
        """Of pages that come at once the order is nobody's choice: which of two twins goes out differs."""
        carried = [chunk for item in crawls["on"].fed for chunk in item["dedup"]["chunks"]]
        sent = [item for item in crawls["as-items"].fed if "cleaned_content" not in item]

        assert chunks_of(sent) == chunks_of(carried)
        assert len(sent) == crawls["as-items"].count("chunks/items")
        assert Counter(texts_of(crawls["as-items"]).values()) == Counter(texts_of(crawls["on"]).values())
        assert not any("chunks" in item.get("dedup", {}) for item in crawls["as-items"].fed)
        assert {name: crawls["as-items"].count(name) for name in FEW.ledger} == FEW.ledger
        assert crawls["as-items"].errors == []

    def test_name_their_page_and_come_before_it(self, crawls):
        items = crawls["as-items"].fed
        pages = {item["url"]: (place, item) for place, item in enumerate(items) if "cleaned_content" in item}
        sent = [(place, item) for place, item in enumerate(items) if "cleaned_content" not in item]

        assert {item["url"] for _, item in sent} == pages.keys()
        for place, item in sent:
            place_of_page, its_page = pages[item["url"]]
            assert place < place_of_page
            assert (item["page_key"], item["title"]) == (its_page["dedup"]["visited"], its_page["title"])

    def test_are_not_waited_for_once_their_page_is_done(self, crawls, urls, folder):
        # With other details on an item every page would be given again.
        as_then = {"DEDUP_LANGUAGES": ["nl"], "DEDUP_ITEM_DETAILS": ["chunks"], **CRAWLS["as-items"]}
        project = Project(folder / "as-items", ADDON | as_then | {"DEDUP_UNCHANGED": "skip"})
        again = project.crawl("hospital", "-a", f"start={' '.join(urls)}")

        assert crawls["as-items"].stats["left_behind"] == 0
        assert again.fed == []
        assert again.count("chunks/items") == 0


def test_near_duplicates_that_differ_in_a_number_are_marked_where_others_are_dropped(crawls):
    """The programmes of two years are two pages."""
    dropping = crawls["as-items"]

    assert dropping.count("near_duplicate/dropped") == 0
    assert dropping.count("near_duplicate/marked") == FEW.editions
    assert dropping.count("chunk/chunks") == FEW.chunks_dropped()
    assert sum("/opleiding-" in url for url in texts_of(dropping)) == 2 * FEW.editions


def test_marked_near_duplicates_name_their_keeper(crawls):
    marked = [item["dedup"] for item in crawls["on"].fed if "near_duplicate" in item["dedup"]]
    keys = {item["dedup"]["page_key"] for item in crawls["on"].fed}

    assert len(marked) == FEW.editions
    assert {report["near_duplicate"]["page_key"] for report in marked} < keys
    assert all(0.9 <= report["near_duplicate"]["jaccard"] < 1 for report in marked)


class TestFiles:
    """The same switches where there is no crawl."""

    @pytest.mark.parametrize("most", [2, 3, 1000])
    def test_a_text_lives_in_one_to_n_pages(self, most):
        done = self.run(chunk_min_documents=most)
        reports = reports_of(done.rows)

        assert set(given(reports)) == known(reports)
        assert max(given(reports).values()) == min(most, max(FEW.exercises, FEW.with_departments))
        assert done.tally.counts["chunk/chunks"] == FEW.chunks_dropped(most)

    @pytest.mark.parametrize("are_translations", [True, False])
    def test_pages_that_name_each_other_as_translations_both_stay(self, are_translations):
        tags = {"nl": "/nl/arts", "fr": "/fr/arts"}
        links = "".join(f'<link rel="alternate" hreflang="{tag}" href="{path}">' for tag, path in tags.items())
        html = a_content("/arts", "Dokter").html().replace("</head>", f"{links if are_translations else ''}</head>")
        pages = [
            {"url": ORIGIN + path, "html": html.replace('<html lang="nl"', f'<html lang="{tag}"')}
            for tag, path in tags.items()
        ]

        # Of a smaller site nobody knows which texts are a page's own.
        others = [{"url": f"{ORIGIN}/{n}", "html": a_content(f"/{n}", f"Dienst {n}").html()} for n in range(5)]

        done = Done(*others, *pages, near_duplicate="drop", chunk_enabled=False)

        assert len(done.rows) == len(others) + 1 + are_translations

    def run(self, **settings: Any) -> Done:
        pages = site(FEW)
        return Done(
            *rows(pages, addresses(pages, FEW)), **{"languages": NL, "item_details": frozenset(["chunks"]), **settings}
        )
