"""What stands in each block of docs/benchmarks.md: from results to lines of Markdown."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from benchmarks import growth_picture
from benchmarks.cells import bold, median, plain, rounded, table, verdict

GROWTH: Final = ("pages_1000", "pages_10000", "pages_100000", "million_pages")
SUITES: Final = ("suite_scrapy", "suite_scrapy_poet", "suite_scrapy_redis", "suite_spidermon")
_NOT_RUN: Final = "not run"

Results = Mapping[str, dict[str, Any]]
Lines = Iterator[str]

_KNOWN: Final = {
    "60": "60 pages",
    "5": "5 pages",
    "5 and the page": "5 pages and the page at hand",
    "1": "the page by itself",
}


def _quality(results: Results) -> Lines:
    means = results["quality"]["figures"]["means"]
    head = (
        "known of a site", "F1, mean of sites", "of kinds", "shops", "forums", "the rest", "worst tenth", "precision",
        "recall", "content lost", "noise left",
    )  # fmt: skip
    names = ("sites", "kinds", "shop", "forum", "rest", "worst tenth", "precision", "recall", "loss", "noise")
    yield from table(head, [(words, *(f"{means[way][name]:.3f}" for name in names)) for way, words in _KNOWN.items()])


def _single_pages(results: Results) -> Lines:
    """Ours by models that were trained without the page's domain; the kinds of a set that has many pages of several."""
    means = results["quality"]["figures"]["means"]
    rows = []
    for name, found in results["single_pages"]["figures"].items():
        kinds = found["trafilatura"]["kinds"]
        many = [kind for kind in sorted(kinds) if kind != "all" and kinds[kind]["pages"] >= _MANY_PAGES]
        for kind in ("all", *(many if len(many) > 1 else ())):
            ours, other = (
                means[f"single pages, {name}" if kind == "all" else f"single pages, {name} {kind}"],
                kinds[kind],
            )
            texts = (f"{one['f1']:.3f} ({one['recall']:.2f})" for one in (ours, other))
            label = name if kind == "all" else f"└ {kind}"
            rows.append((label, f"{ours['pages']:.0f}", *texts, f"{ours['f1'] - other['f1']:+.3f}"))
    yield from table(("set", "pages", "scrapy-dedup", "trafilatura", "difference"), rows)


_MANY_PAGES: Final = 40


def _redesigns(results: Results) -> Lines:
    sites = results["redesigns"]["figures"]["sites"]
    rows = []
    for design in dict.fromkeys(one["design"] for one in sites):
        of_design = [one for one in sites if one["design"] == design]
        after = [one["alarm_after"] for one in of_design if one["alarm_after"] is not None]
        means = (sum(one[name] for one in of_design) / len(of_design) for name in ("old_chrome", "recall", "f1"))
        worst = min(one["recall"] for one in of_design)
        rows.append((design, f"{len(after)} of {len(of_design)}", max(after, default="none"),
                     *(f"{mean:.3f}" for mean in means), f"{worst:.3f}"))  # fmt: skip
    head = ("design", "alarms", "after pages, at most", "items with old chrome", "recall", "F1", "recall, worst site")
    yield from table(head, rows)


_PEERS: Final = {"scrapy_dedup": "**scrapy-dedup**", "fallback": "scrapy-dedup, page by page"}


def _peers(results: Results) -> Lines:
    methods = results["beside_peers"]["figures"]["mean"]
    columns = ("precision", "recall", "f1", "loss", "noise", "worst_f1")
    rows = [
        (_PEERS.get(name, name), *(bold(f"{found[column]:.3f}", name == "scrapy_dedup") for column in columns))
        for name, found in sorted(methods.items(), key=lambda one: (one[0] not in _PEERS, -one[1]["f1"]))
    ]
    head = ("method", "precision", "recall", "F1", "content lost", "noise left", "worst site F1")
    yield from table(head, rows)


_WAYS: Final = {
    "bare parse": "bare parse (lexbor)",
    "blocks": "parse and blocks",
    "blocks, fingerprints": "parse, blocks and their fingerprints (what a crawl needs)",
    "scrapy_dedup": "**scrapy-dedup**: parse, cut, text, title, date, author",
    "scrapy_dedup, page by itself": "**scrapy-dedup**, nothing known of the site: the same",
}


def _speed(results: Results) -> Lines:
    figures = results["clean_speed"]["figures"]
    known = figures["pages of known layouts"]
    for pages in ("all pages", "pages of known layouts"):
        found = figures[pages]
        if pages == "all pages" and found["pages"] == known["pages"]:
            continue
        yield from (f"**{pages.capitalize()} ({found['pages']})**", "")
        rows = [
            (
                _WAYS.get(name, name),
                f"{one['ms_a_page']:.2f}",
                f"{one['pages_a_second']:.0f}",
                f"{one['times_ours']:.2f}",
            )
            for name, one in found["ways"].items()
        ]
        yield from table(("", "ms a page", "pages a second", "ours is faster by"), rows)
        yield ""
    faster = known["ways"].get("trafilatura", {}).get("times_ours", 0.0)
    yield (
        f"A page of a known layout is cut {faster:.1f} times as fast as trafilatura extracts it"
        f" (target: 20{verdict(faster >= 20)}), in {known['over_bare_parse']:.1f} times the bare parse"
        f" (target: 4{verdict(known['over_bare_parse'] <= 4)})."
    )
    pages = figures["all pages"]["ways"]
    alone = pages["scrapy_dedup, page by itself"]["ms_a_page"]
    times = pages.get("trafilatura", {}).get("ms_a_page", 0.0) / alone
    yield (
        f"A page of which nothing is known but itself is cut {times:.1f} times as fast as trafilatura extracts it"
        f" (target: 3{verdict(times >= 3)})."
    )
    yield from ("", *_judging(figures["judging"]))


def _judging(figures: Mapping[str, Any]) -> Lines:
    layout, page = figures["layouts"][0], figures["page"]
    of_layout, of_page = (one["judge_ms"] + one["reasons_ms"] for one in (layout, page))
    yield (
        f"Judged with all reasons: {of_layout:.1f} ms for the {layout['paths']} paths of the largest site (target: 40"
        f" for 500{verdict(of_layout <= 40 * layout['paths'] / 500)}), {of_page:.1f} ms for the {page['paths']} of a"
        f" page (target: 5 for 60{verdict(of_page <= 5 * page['paths'] / 60)})."
    )


def _clean_large(results: Results) -> Lines:
    found = results["clean_large"]["figures"]
    head = ("pages", "pages a second of CPU", "of the speed of known layouts in memory", "peak memory", "after a kill")
    same = "the same file" if found["same_after_kill"] else "**another file**"
    share, peak = f"{found['share']:.2f} (target 0.7)", f"{found['peak_mb']:.0f} MB (target 500)"
    yield from table(head, [(f"{found['pages']:,}", f"{found['pages_a_second']:.0f}", share, peak, same)])


def _warc_damage(results: Results) -> Lines:
    figures = results["warc_damage"]["figures"]
    head = ("records, damaged", "file", "readings", "good pages missing", "altered pages", "not told")
    rows = [
        (f"{records:,}, {damages}", name, *(f"{one[key]:,}" for key in ("readings", *_OF_DAMAGES)))
        for records, damages, found in (
            (figures["records"], 1, figures["one"]),
            (2 * figures["records"], 5, figures["five"]),
        )
        for name, one in found.items()
    ]
    yield from table(head, rows)
    others = sum(one["other_url"] for found in ("one", "five") for one in figures[found].values())
    yield from ("", f"In {others:,} more the damage was in the URL of a plain file, which no digest covers.")


_OF_DAMAGES: Final = ("missing", "altered", "untold")

_LAYERS: Final = {
    "url and canonical": "`url` and `canonical`",
    "and boilerplate": "and `boilerplate`",
    "and patterns": "and `patterns`",
    "and title, duplicate": "and `title`, `duplicate`",
    "and near_duplicate": "and `near_duplicate`",
    "and chunk: the default": "and `chunk`: the default",
    "all layers": "all, with `DEDUP_LANGUAGES`",
}


# Ratios to bare Scrapy.
_GOALS: Final = {"url and canonical": 1.05, "and chunk: the default": 1.3, "all layers": 1.4}


def _overhead(results: Results) -> Lines:
    ways = results["crawl_overhead"]["figures"]["ways"]
    rows = []
    for name, label in _LAYERS.items():
        if name in ways:
            ratio = ways[name]["median_ratio"][0]
            goal = f" (target: {_GOALS[name]}{verdict(ratio <= _GOALS[name])})" if name in _GOALS else ""
            bare, ours = (median(ways[name][one]) for one in ("bare_ms", "with_ms"))
            rows.append((label + goal, f"{bare:.1f}", f"{ours:.1f}", f"{ratio:.2f}"))
    yield from table(("layers", "bare Scrapy, ms", "with the add-on, ms", "ratio"), rows)
    started = results.get("startup", {}).get("figures", {}).get("commands", {})
    if started:
        later = ", ".join(f"{name} {found['median_later_ms']:.0f} ms" for name, found in started.items())
        yield from ("", f"Later than without the add-on (`python -m benchmarks.startup`; target: 150 ms): {later}.")


def _recrawl(results: Results) -> Lines:
    rows = []
    # The third is like the second, and the bare crawl's bytes and callbacks are the first one's.
    names = {"first": "first", "second": "second"}
    for server, crawls in results["recrawl_overhead"]["figures"]["servers"].items():
        for crawl, found in ((name, crawls[name]) for name in names if name in crawls):
            cpu = f"{median(found['cpu_ms_a_page']):.1f} ({found['median_ratio']:.2f})"
            counts = (f"{found['bytes'] / 1e6:.1f}", f"{found['callbacks']:,}")
            rows.append((server, names[crawl], cpu, *counts))
    head = ("site with", "crawl", "CPU, ms a page (of bare Scrapy)", "MB fetched", "callbacks")
    yield from table(head, rows)


_COMPARED: Final = {
    "ours": "**scrapy-dedup**: sketch, bands, exact",
    "datasketch": "datasketch, LSH and exact, same shingles",
    "datasketch, estimate": "datasketch, its estimate",
}


def _near_duplicates(results: Results) -> Lines:
    low, high = (results["near_duplicates"]["figures"]["pairs"][limit]["methods"] for limit in ("0.8", "0.9"))
    rows = [
        (
            _COMPARED.get(name, name),
            f"{low[name]['f1']:.3f}",
            f"{high[name]['f1']:.3f}",
            rounded(low[name]["pages_a_second"]),
        )
        for name in low
    ]
    yield from table(("", "F1 against exact Jaccard 0.8", "at 0.9", "pages a second"), rows)


def _near_duplicates_cost(results: Results) -> Lines:
    rows = []
    for kind, parts in results["near_duplicates_cost"]["figures"]["cost"].items():
        for one in parts:
            times = (f"{one['lookup_ms']:.2f}", f"{one['slowest_lookup_ms']:.2f}", f"{one['write_ms']:.2f}")
            rows.append((f"{one['stored']:,}, {kind.replace('_', ' ')}", *times, f"{one['bytes_a_page']:,.0f}"))
    head = ("pages in the store (SQLite)", "lookup, ms CPU", "slowest", "write", "bytes a page")
    yield from table(head, rows)


_FILTERS: Final = {
    "scrapy": "Scrapy's `RFPDupeFilter`",
    "hexadecimal": "the same before Scrapy 2.19",
    "store": "**`scrapy_dedup.StoreDupeFilter`**",
}


def _seen(results: Results) -> Lines:
    figures = results["seen_urls"]["figures"]
    yield from (f"{figures['urls']:,} URLs, DEDUP_SEEN_CAPACITY {figures['capacity']:,}:", "")
    rows = []
    for kind, found in figures["filters"].items():
        memory = f"{found['bytes_a_url']:.2f}"
        if kind == "store":
            memory = f"**{memory}** (target: 2.5{verdict(found['bytes_a_url'] <= 2.5)})"
        times = (f"{found[one] / 1000:.1f}" for one in ("new_ns", "known_ns", "menu_ns"))
        rows.append((_FILTERS[kind], memory, *times, f"{found['seconds']:.0f}"))
    head = ("", "bytes a URL in memory", "a new URL, µs", "a known one", "one in a menu", "seconds in all")
    yield from table(head, rows)
    if store := figures["filters"].get("store"):
        yield ""
        yield (
            "No new URL was held back, and none of 500,000 known ones passed, spread over all. Beside memory"
            f" {store['file_bytes'] / figures['urls']:.0f} bytes a URL in the store's file. Writing took"
            f" {store['writing_seconds']:.0f} s (in a crawl: in a thread), reading all of them at a resume"
            f" {store['loading_seconds']:.0f} s."
        )


def _growth(results: Results) -> Lines:
    rows = []
    for name in GROWTH:
        if name not in results:
            rows.append((name.replace("_", " "), *[_NOT_RUN] * 5))
            continue
        found = results[name]["figures"]
        rows.append(
            (
                f"{found['pages']:,}",
                f"{found['cpu_ms_a_page']:.1f}",
                f"{found['cpu_ms_a_page'] - found['cpu_ms_of_making_a_page']:.1f}",
                f"{found['last_tenth_to_first_by_cpu']:.2f}",
                f"{found['peak_mb']:.0f}",
                f"{found['store_bytes_a_page']:,.0f}",
            )
        )
    head = (
        "pages",
        "CPU, ms a page",
        "without making them",
        "last tenth / first, pages a second",
        "peak, MB",
        "store, bytes a page",
    )
    yield from table(head, rows)
    if len(points_of(results)) > 1:
        yield from ("", "![Cost as the work grows: time and memory a page](growth.svg)")


def _large_domain(results: Results) -> Lines:
    figures = results["large_domain"]["figures"]
    whole, epochs, crawl = figures["whole"], figures["epochs"], figures["crawl"]
    rows = [
        ("memory", *(f"{found['memory_mb']:.1f} MB" for found in (whole, epochs)), "25 MB"),
        ("blocks that repeat", *(f"{found['boilerplate']:,}" for found in (whole, epochs)), ""),
        ("in doubt", *(f"{found['doubtful']:,}" for found in (whole, epochs)), ""),
        ("decisions that exact counting makes otherwise", whole["wrong"], epochs["wrong"], "0"),
        ("a forgotten block was at most on", f"{whole['floor']:,} pages", "", ""),
    ]
    yield from table((f"{figures['pages']:,} pages of one domain", "all at once", "by epochs", "target"), rows)
    places = ", ".join(f"{page:,}" for page in epochs["found_at"])
    said = (
        f"The redesign at page {epochs['redesigned_at']:,} is found at page {places}. A crawl's learner raises its"
        f" alarm at page {crawl['alarm_at_page_of_new_design']} of a new design, and pages fit again from its page"
        f" {crawl['fits_again_from_page']}."
    )
    yield from ("", said)


def _crawlers(results: Results) -> Lines:
    outcomes = results["many_crawlers"]["figures"]["outcomes"]
    # What is equal for all, and what the store was left as.
    skipped = {"name", "documents", "aliases", "runs", "ended", "size_bytes", "links dropped", "redirects"}
    skipped |= {"duplicate dropped", "canonical dropped", "given so many seconds before", "fewest pages of a worker"}
    skipped |= {"seconds from first to last page"}
    rows = [
        (what, *(plain(outcome.get(what, "")) for outcome in outcomes)) for what in outcomes[0] if what not in skipped
    ]
    yield from table(("", *(outcome["name"].replace("_", ", ") for outcome in outcomes)), rows)


_BATCHES: Final = {"clean": "`clean --jobs 2`", "batch": "`batch`, even", "batch_skewed": "`batch`, 90 % in one domain"}


def _spark(results: Results) -> Lines:
    figures = results["spark"]["figures"]
    yield from _batches(figures)
    rows, ratio = plain(figures["rows"]), figures["ratio"]
    yield from ("", f"Rows that differ: {rows}. `batch` takes {ratio} of the time of `clean` (target: 1.5).")


def _spark_skew(results: Results) -> Lines:
    figures = results["spark_skew"]["figures"]
    yield from _batches(figures)
    yield from ("", f"The skewed corpus takes {figures['skew_ratio']} of the even one's time (target: 1.3).")


def _batches(figures: Mapping[str, Any]) -> Lines:
    rows = []
    for name, label in _BATCHES.items():
        if found := figures.get(name):
            memory = (f"{found[one] / 1e6:.0f}" for one in ("peak_bytes", "executor_bytes"))
            rows.append((label, f"{found['seconds']:.0f}", f"{found['cpu_seconds']:.0f}", *memory))
    yield from table(
        (f"{figures['pages']:,} pages", "seconds", "CPU seconds", "peak, MB", "of these the executor"), rows
    )


_SERVERS: Final = {"faults": "SQLite", "faults_postgresql": "PostgreSQL"}


def _faults(results: Results) -> Lines:
    rows = []
    for name, database in _SERVERS.items():
        if name in results:
            found = results[name]["figures"]
            wrong = [len(found[what]) for what in ("lost", "wrongly_seen", "failed", "damaged")]
            rows.append((database, sum(found["statements"].values()), found["kills"], *wrong))
    head = ("store", "statements", "crashes", "items lost", "pages wrongly seen", "crawls failed", "stores damaged")
    yield from table(head, rows)


def _kills(results: Results) -> Lines:
    found = results["kills"]["figures"]
    wrong = [len(found[what]) for what in ("lost", "wrongly_seen", "failed")]
    # The rule of three, of a proportion that was never met.
    bound = f"; at most {3 / found['kills']:.2%} then (95 %)" if not any(wrong) else ""
    trial, kills = found["trial"], f"{found['kills']:,}"
    if trial["kills"] > found["kills"]:
        kills += f" of {trial['kills']:,}"
    yield (
        f"{kills} kills at random moments in {found['crawls']:,} crawls, seed {trial['seed']}: {wrong[0]} items lost,"
        f" {wrong[1]} pages wrongly seen, {wrong[2]} crawls failed{bound}."
    )


def _fuzz(results: Results) -> Lines:
    found = results["fuzz"]["figures"]
    cases, findings = sum(one["cases"] for one in found.values()), sum(len(one["findings"]) for one in found.values())
    minutes = min(one["seconds"] for one in found.values()) / 60
    names = ", ".join(found)
    yield f"{len(found)} entry points, {minutes:.0f} minutes each: {cases:,} cases, {findings} findings ({names})."


def _suites(results: Results) -> Lines:
    rows = []
    suites = [results[name]["figures"] for name in SUITES if name in results]
    for suite in suites:
        counts = (f"{suite[way].get('passed', 0):,}" for way in ("bare", "forced"))
        rows.append((suite["suite"], *counts, len(suite["failing"]), len(suite["flaky"])))
    yield from table(("suite", "passed bare", "with the add-on", "fail by it", "differ, but not alone"), rows)
    reasons: dict[str, list[str]] = {}
    for suite in suites:
        for test, reason in suite["failing"].items():
            reasons.setdefault(reason, []).append(test.rpartition("::")[2])
    if reasons:
        yield ""
    for reason, tests in reasons.items():
        yield f"- {', '.join(f'`{test}`' for test in dict.fromkeys(tests))}: {reason}"


def _matrix(results: Results) -> Lines:
    rows = results["matrix"]["figures"]["rows"]
    tried = {name: one["versions"] for name, one in rows.items() if one["outcome"] == "tried"}
    # Of a companion its version; else that of Scrapy, or of Python, which its name has.
    told = (
        f"{name} {versions[name.lower()]}" if name.lower() in versions else name for name, versions in tried.items()
    )
    yield f"{', '.join(told)}."
    for outcome in sorted({one["outcome"] for one in rows.values()} - {"tried"}):
        yield f"{outcome.capitalize()}: {', '.join(name for name, one in rows.items() if one['outcome'] == outcome)}."


def _memory(results: Results) -> Lines:
    found = results["memory"]["figures"]
    peak = found["peak_mb"]
    yield (
        f"{found['pages']:,} pages of {found['domains']:,} domains: peak {peak['bare']:.0f} MB bare,"
        f" {peak['with']:.0f} MB with the add-on."
    )


def _soak(results: Results) -> Lines:
    found = results["soak"]["figures"]
    yield "![Memory, descriptors, store and pace by crawl](soak.svg)"
    yield ""
    slope = found["memory_mb_an_hour"]
    yield (
        f"{found['pages']:,.0f} pages in {found['minutes']:.0f} minutes, {found['errors']:.0f} errors: memory grows by"
        f" {slope:.1f} MB an hour (target: 5{verdict(slope <= 5)}), the store by {found['store_kb_a_crawl']:.1f} kB a"
        " crawl, of which 2 kB are the run's own, up to 1,000 runs."
    )


BLOCKS: Final[dict[str, tuple[tuple[str, ...], Callable[[Results], Lines]]]] = {
    "quality": (("quality",), _quality),
    "single_pages": (("quality", "single_pages"), _single_pages),
    "redesigns": (("redesigns",), _redesigns),
    "peers": (("beside_peers",), _peers),
    "speed": (("clean_speed",), _speed),
    "clean_large": (("clean_large",), _clean_large),
    "warc_damage": (("warc_damage",), _warc_damage),
    "overhead": (("crawl_overhead",), _overhead),
    "recrawl": (("recrawl_overhead",), _recrawl),
    "near_duplicates": (("near_duplicates",), _near_duplicates),
    "near_duplicates_cost": (("near_duplicates_cost",), _near_duplicates_cost),
    "seen": (("seen_urls",), _seen),
    "growth": (GROWTH, _growth),
    "large_domain": (("large_domain",), _large_domain),
    "many_crawlers": (("many_crawlers",), _crawlers),
    "faults": (tuple(_SERVERS), _faults),
    "kills": (("kills",), _kills),
    "fuzz": (("fuzz",), _fuzz),
    "suites": (SUITES, _suites),
    "matrix": (("matrix",), _matrix),
    "memory": (("memory",), _memory),
    "soak": (("soak",), _soak),
    "spark": (("spark",), _spark),
    "spark_skew": (("spark_skew",), _spark_skew),
}
"""Name of a block -> the results that it reads, and what it makes of them."""


def points_of(results: Results) -> list[growth_picture.Point]:
    """Return the crawls of the picture."""
    found = [results[name]["figures"] for name in GROWTH if name in results]
    return [growth_picture.Point(one["pages"], one["cpu_ms_a_page"], one["peak_mb"]) for one in found]
