"""All layers on one hospital's site: each counts what it is there for, in any order and however much comes at once."""

from functools import partial

import pytest

from scrapy_dedup.store.store import Store
from tests.end_to_end.crawling import ADDON, Crawled, Project
from tests.hospital.outcomes import Reports, given, ids, known, reports_of
from tests.hospital.site import ALL, FURNITURE, addresses, rows, served, site
from tests.server import Answer, WebServer
from tests.service.files.test_run import Done

SETTINGS = {**ADDON, "DEDUP_LANGUAGES": ["nl"], "DEDUP_ITEM_DETAILS": ["chunks"]}
WAYS = {"in-order": (None, 1), "shuffled": (1, 8)}
"""Seed of the order, and requests at once."""


def answers_of(server: WebServer) -> dict[str, Answer]:
    return {url: answer for url, answer in server.site.items() if isinstance(answer, Answer)}


SERVED = 1, lambda origins: served(site(ALL, origins[0]))


@pytest.fixture(scope="module")
def projects(tmp_path_factory) -> dict[str, Project]:
    folder = tmp_path_factory.mktemp("hospital")
    return {way: Project(folder / way, SETTINGS) for way in WAYS}


@pytest.fixture(scope="module")
def crawls(server, projects) -> dict[str, Crawled]:
    found = {}
    for way, (seed, at_once) in WAYS.items():
        start = " ".join(addresses(answers_of(server), ALL, seed))
        found[way] = projects[way].crawl("hospital", "-a", f"start={start}", CONCURRENT_REQUESTS=at_once)
    return found


@pytest.fixture(scope="module")
def cleaned(server) -> dict[str, Done]:
    pages = answers_of(server)
    run = partial(Done, languages=frozenset(["nl"]), item_details=frozenset(["chunks"]))
    return {way: run(*rows(pages, addresses(pages, ALL, seed))) for way, (seed, _) in WAYS.items()}


@pytest.fixture(scope="module")
def outcomes(crawls, cleaned) -> dict[str, Reports]:
    """What every page that went out says of itself, by how it came."""
    found = {f"crawl-{way}": reports_of(crawled.fed) for way, crawled in crawls.items()}
    return found | {f"files-{way}": reports_of(done.rows) for way, done in cleaned.items()}


OUTCOMES = [f"{kind}-{way}" for kind in ("crawl", "files") for way in WAYS]


@pytest.mark.parametrize("way", WAYS)
class TestLedger:
    def test_of_a_crawl_has_the_right_number_in_every_row_and_no_other_layer(self, crawls, way):
        assert {name: crawls[way].count(name) for name in ALL.ledger} == ALL.ledger

        layers = {name.split("/")[1] for name in crawls[way].stats if name.startswith("dedup/")}

        assert not layers & {"shadow", "left", "errors", "patterns"}

    def test_of_files_has_the_same_numbers(self, cleaned, way):
        counts = cleaned[way].tally.counts

        assert {name: counts[name] for name in ALL.ledger_of_files} == ALL.ledger_of_files

    def test_of_chunks_adds_up(self, crawls, cleaned, way):
        for count in (crawls[way].count, cleaned[way].tally.counts.__getitem__):
            assert count("chunks/in") == count("chunks/out") + count("chunk/chunks") + count("language/chunks")

    def test_counts_the_same_chunks_and_characters_as_that_of_files(self, crawls, cleaned, way):
        names = [name for name in cleaned[way].tally.counts if name.endswith(("chars", "chunks", "chars_in"))]

        assert {name: crawls[way].count(name) for name in names} == {
            name: cleaned[way].tally.counts[name] for name in names
        }


@pytest.mark.parametrize("outcome", OUTCOMES)
class TestChunks:
    def test_every_text_is_given_by_exactly_one_page_in_any_order(self, outcomes, outcome):
        texts = given(outcomes[outcome])

        assert set(texts.values()) == {1}
        assert set(texts) == known(outcomes[outcome]) == set(given(outcomes["crawl-in-order"]))

    def test_of_one_page_have_the_same_ids_in_any_run(self, outcomes, outcome):
        """Which address of a page goes out, and whose a shared text is, the order decides; ids it does not."""
        ours, first = ids(outcomes[outcome]), ids(outcomes["crawl-in-order"])

        both = ours.keys() & first.keys()
        assert len(both) > len(ours) / 2
        assert {url: ours[url] for url in both} == {url: first[url] for url in both}

    def test_that_are_left_out_name_a_page_that_gives_them(self, outcomes, outcome):
        reports = outcomes[outcome]
        given_by = {
            (report["page_key"], chunk["hash"])
            for report in reports.values()
            for chunk in report["chunks"]
            if "text" in chunk
        }
        left_out = [chunk for report in reports.values() for chunk in report["chunks"] if "holder" in chunk]

        assert {(chunk["holder"], chunk["hash"]) for chunk in left_out} <= given_by
        assert len(left_out) == ALL.chunks_dropped()

    def test_have_no_furniture_and_no_other_languages_but_for_short_ones(self, outcomes, outcome):
        chunks = [chunk for report in outcomes[outcome].values() for chunk in report["chunks"]]
        texts = [chunk.get("text", "") for chunk in chunks]
        languages = sorted(chunk["language"] for chunk in chunks if chunk.get("layer") == "language")

        assert not [text for text in texts if any(part in text for part in FURNITURE)]
        assert languages == ["de"] * ALL.german + ["fr"] * ALL.french
        assert sum("Emergency" in text for text in texts) == ALL.with_short_headings


@pytest.mark.parametrize("way", WAYS)
def test_same_title_with_other_content_drops_nothing(crawls, way):
    contacts = [item["url"] for item in crawls[way].fed if item["title"] == "Contact"]

    assert len(contacts) == ALL.namesakes


@pytest.mark.parametrize("way", WAYS)
def test_store_holds_the_chunks_that_went_out(crawls, projects, way):
    """A page that goes out for the one that it names as canonical is stored under its own address."""
    reports = reports_of(crawls[way].fed)
    with Store.open(f"sqlite:///{projects[way].folder}/.scrapy/dedup.db") as store:
        project = store.project("scrapybot")
        stored = {
            url: [(chunk.chunk_id, chunk.state) for chunk in project.chunks_of(bytes.fromhex(report["visited"]))]
            for url, report in reports.items()
        }

    assert stored == {
        url: [(chunk["id"], chunk["state"]) for chunk in report["chunks"]] for url, report in reports.items()
    }
