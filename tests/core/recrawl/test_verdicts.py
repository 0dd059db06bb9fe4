import json
from pathlib import Path
from typing import Any

import pytest

from scrapy_dedup.core.boilerplate.repeats import PageCounts, RepeatPolicy
from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.core.recrawl.elapsed import timeless
from scrapy_dedup.core.recrawl.verdicts import (
    TITLE,
    Change,
    ChangePolicy,
    MainText,
    Passage,
    Repeats,
    VerdictKind,
    block_key,
    compare,
    main_text,
    mask,
    may_be_furniture,
    page_keys,
    repeats_of,
    same_blocks,
    text_key,
    unified_diff,
)
from tests.core.builders import parsed
from tests.tables import table

CASES = json.loads((Path(__file__).parents[2] / "data" / "verdicts" / "pairs.json").read_text(encoding="utf-8"))
NOTHING_KNOWN = Repeats()

Case = dict[str, Any]


def page_of(parts: list[str], title: str = "") -> Page:
    return parsed(f"<title>{title}</title><body>{''.join(parts)}")


def text_of(*parts: str, repeats: Repeats = NOTHING_KNOWN) -> MainText:
    return main_text(page_of(list(parts)), repeats)


def pages_of(case: Case) -> tuple[Page, Page]:
    old_title, new_title = case.get("title", ["", ""])
    return page_of(case["old"], old_title), page_of(case["new"], new_title)


def repeats_in(case: Case) -> Repeats:
    blocks = [block for page in pages_of(case) for block in page.blocks]

    def keys(field: str) -> set[int]:
        return {block_key(block) for block in blocks if block.text in case.get(field, [])}

    titles = {text_key(TITLE, part) for part in case.get("boilerplate_titles", [])}
    shown = {text_key(path, text) for path, text in case.get("boilerplate_shown", [])}
    return Repeats(keys("boilerplate") | titles | shown, keys("menus"))


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES])
def test_verdict(case):
    old, new = (main_text(page, repeats_in(case)) for page in pages_of(case))
    policy = ChangePolicy(frozenset(map(Change, case["classes"]))) if "classes" in case else ChangePolicy()

    verdict = compare(old, new, policy)

    assert (verdict.kind, verdict.change) == (case["kind"], case["change"]), f"{case['why']}: {verdict.reason}"


def test_reason_shows_the_first_passage_that_differs():
    verdict = compare(text_of("<p>One", "<p>Two", "<p>Three"), text_of("<p>One", "<p>Zwei", "<p>Three"))

    assert verdict.reason == "main text differs: 'Two' became 'Zwei'"


def test_reason_does_not_show_what_both_have_after_a_footer_that_counts_for_nothing():
    """The old footer is boilerplate with another number; the passage after it is the same."""
    footer = Repeats(frozenset({text_key("body>div", "© 2025")}))
    old = text_of("<div>© 2024</div>", "<p>Same</p>", "<p>Two</p>", repeats=footer)
    new = text_of("<div>© 2025</div>", "<p>Same</p>", "<p>Zwei</p>", repeats=footer)

    assert compare(old, new).reason == "main text differs: 'Two' became 'Zwei'"


def test_diff_has_a_line_a_passage_and_a_line_of_code():
    old, new = text_of("<p>One", "<pre>a\nb</pre>", "<p>End"), text_of("<p>One", "<pre>a\nc</pre>", "<p>End")

    assert unified_diff(old, new).splitlines()[2:] == ["@@ -2 +2 @@", "-b", "+c"]


@pytest.mark.parametrize(("passages", "chars"), [(20_000, 5), (30, 100_000)])
def test_diff_is_bounded(passages, chars):
    old, new = (
        MainText(passages=tuple(Passage("body>p", f"{word}{number} " + "x" * chars) for number in range(passages)))
        for word in ("old", "new")
    )

    diff = unified_diff(old, new)

    assert len(diff) < 30_000
    assert diff.endswith("...")


def test_titles_in_a_list_that_says_more_of_each_are_no_menu():
    def listed(title: str) -> MainText:
        rows = "".join(
            f"<li><a href=/{number}>{name}</a><div>{number} replies</div>"
            for number, name in ((1, title), (2, "Two"), (3, "Three"))
        )
        page = page_of([f"<ul>{rows}</ul>"])
        return main_text(page, Repeats(links=frozenset(block_key(block) for block in page.blocks)))

    assert compare(listed("One"), listed("One more")).kind is VerdictKind.CHANGED


@table("core/mask_takes_numbers_and_names_of_days_and_months")
def test_mask_takes_numbers_and_names_of_days_and_months(text, masked):
    assert mask(text) == masked


@table("text/furniture")
def test_numbers_that_somebody_pays_or_dials_are_no_furniture(text, *, is_furniture):
    assert may_be_furniture(text) is is_furniture


def test_repeats_are_those_of_all_versions():
    old, new = PageCounts[int](), PageCounts[int]()
    for number in range(10):
        old.add([1, 10 + number] + [2] * (number < 6))
        new.add([3])

    assert repeats_of([old, new], RepeatPolicy(0.7, 5)) == Repeats({1, 3}, {1, 2, 3})


# Where the tokens of code are divided is seen by no key: the text is the same.
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case["id"])
        for case in CASES
        if case["change"] not in ("none", "boilerplate_only") and case["id"] != "code-tokens"
    ],
)
def test_a_page_that_changed_has_other_keys(case):
    old, new = map(page_keys, pages_of(case))

    assert not same_blocks(old, new, repeats_in(case).boilerplate)


def test_keys_of_a_page_hold_its_title():
    one, other = parsed("<title>A | S</title><p>Text"), parsed("<title>B | S</title><p>Text")

    ours, theirs = page_keys(one), page_keys(other)

    assert ours[0] == block_key(one.blocks[0])
    assert [our == their for our, their in zip(ours, theirs, strict=True)] == [True, False, True, True]


def test_main_text_keeps_what_the_site_does_not_share():
    page = parsed("<title>A | S</title><p>Own<p>Shared<ul><li><a href=/x>Link</a><li><a href=/y>Other</a>")
    keys = page_keys(page)
    repeats = Repeats({keys[1], text_key(TITLE, "S")}, {keys[2], keys[3]})

    found = main_text(page, repeats)

    assert [passage.text for passage in found.title] == ["A"]
    told = [(passage.text, passage.is_link) for passage in found.passages]
    assert told == [("Own", False), ("Link", True), ("\u2192/x", True), ("Other", True), ("\u2192/y", True)]
    assert found.menus == {"body>ul>li"}
    assert found.rest == (keys[1],)


def test_what_a_page_shows_beside_its_words_counts_with_the_element_that_it_stands_in():
    page = parsed("<p>Own <b>bold</b> <a href=/own.pdf>file</a></p><div><img src=/plan.png></div><p>Shared")
    passages = main_text(page, NOTHING_KNOWN).passages

    shown = [(one.path, one.text) for one in passages if one.is_shown]
    assert [path for path, _ in shown] == ["body>p", "body>div"]
    assert page_keys(page)[len(page.blocks) : -1] == [text_key(*one) for one in shown]


@table("core/blocks_are_the_same_without_boilerplate")
def test_blocks_are_the_same_without_boilerplate(old, new, *, same):
    assert same_blocks([*old, 1], [*new, 1], {8, 9}) is same
    assert not same_blocks([*old, 1], [*new, 2], {8, 9})


@table("recrawl/around")
def test_what_comes_beside_boilerplate_where_the_page_says_nothing_of_its_own_is_the_sites(was, now, everywhere, told):
    content = "" if "<h1>" in was else "<section><h1>Cup</h1><p>Blue.</p></section>"
    old, new = page_of([content, was]), page_of([content, now])
    repeats = Repeats(frozenset(block_key(block) for block in old.blocks if block.text == "Imprint"))
    everywhere = frozenset(page_keys(new)) if everywhere else frozenset()

    verdict = compare(main_text(old, repeats), main_text(new, repeats), everywhere=everywhere)

    assert (verdict.kind is VerdictKind.CHANGED) is told


@table("recrawl/elapsed")
def test_how_long_ago_something_was_is_no_fact(text, told):
    assert timeless(text) == told


def test_time_that_passed_is_no_change_and_what_stands_beside_it_is():
    old, later, edited = (
        text_of("<p>Cats.", f"<p>{when}") for when in ("3 days ago by Ana", "2 weeks ago by Ana", "2 weeks ago by Bo")
    )

    assert compare(old, later).change is Change.VOLATILE
    assert compare(old, edited).change is Change.CONTENT


@pytest.mark.parametrize(("lines", "change"), [(1_000, Change.VOLATILE), (1_001, Change.NUMBERS)])
def test_time_that_passed_is_looked_for_in_so_many_lines(lines, change):
    """Twenty thousand lines written for that took thirteen seconds."""
    old, later = (text_of("<p>Cats.", *[f"<p>{days} days ago"] * lines) for days in (3, 4))

    assert compare(old, later).change is change
