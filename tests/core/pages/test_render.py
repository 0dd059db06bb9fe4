import re
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from scrapy_dedup.core.pages.fingerprints import fold
from scrapy_dedup.core.pages.render import Output, kept_pictures, render
from tests.core.builders import parsed
from tests.core.html_soup import pages, soups
from tests.tables import table

BASE = "https://site.example/dir/page.html"


def drawn(html: str, output: Output, drop: Sequence[str] = (), base_url: str | None = None) -> str:
    page = parsed(html)
    return render(page, [block.text not in drop for block in page.blocks], output, base_url)


def tokens_of(markdown: str) -> Iterator[Token]:
    """Yield what a reader of Markdown makes of it, as GitHub reads it."""
    reader = MarkdownIt("commonmark", {"html": True}).enable("table").enable("strikethrough")
    waiting = list(reversed(reader.parse(markdown)))
    while waiting:
        token = waiting.pop()
        yield token
        waiting.extend(reversed(token.children or []))


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def text_of(markdown: str) -> str:
    shown = [
        token.content if token.type in ("text", "code_inline", "fence", "code_block", "text_special") else "\n"
        for token in tokens_of(markdown)
        if token.type not in ("em_open", "em_close", "strong_open", "strong_close", "s_open", "s_close")
        and token.type not in ("link_open", "link_close", "inline")
    ]
    return "".join(shown)


def test_a_picture_goes_with_the_text_that_stands_nearer():
    page = parsed("<div><p>a</p><img src=1></div><div><img src=2><p>b</p></div>")

    assert list(kept_pictures(page, [True, False])) == [True, False]


class TestHtml:
    @table("render/html")
    def test_drawn_as(self, html, drop, expected):
        assert drawn(html, "html", drop) == expected

    @table("render/pictures")
    def test_pictures_go_with_the_text_beside_them(self, html, drop, expected):
        assert drawn(html, "html", drop) == expected

    @table("render/tables")
    def test_tables_keep_their_columns(self, rows, drop, expected):
        assert drawn(f"<table>{rows}</table>", "html", drop) == f"<table><tbody>{expected}</tbody></table>"

    @table("core/tables_that_lay_out_are_drawn_as_their_text")
    def test_tables_that_lay_out_are_drawn_as_their_text(self, html, expected):
        assert drawn(html, "html") == expected


@table("render/links")
def test_links_lead_somewhere_or_are_text(href, expected):
    link = f'<p><a href="{expected}">a</a></p>' if expected else "<p>a</p>"

    assert drawn(f'<p><a href="{href}">a</a></p>', "html", base_url=BASE) == link


class TestMarkdown:
    @table("render/markdown")
    def test_drawn_as(self, html, expected):
        assert drawn(html, "markdown") == expected

    def test_in_endless_texts_tags_and_links_are_literal(self):
        text = "*a* &lt;b> [c](d) " * 50_000

        assert drawn(f"<p>{text}", "markdown") == (r"*a* \<b> [c]\(d) " * 50_000).strip()

    @given(soups, st.data())
    def test_what_was_text_is_no_markup(self, html, data):
        """No raw HTML, and no link that the page does not have as one."""
        page = parsed(html)
        keep = data.draw(st.lists(st.booleans(), min_size=len(page.blocks), max_size=len(page.blocks)))

        for token in tokens_of(render(page, keep, "markdown")):
            assert token.type not in ("html_block", "html_inline")
            if token.type == "link_open":
                assert token.attrs["href"] == "/y?a=1&b=2"
            if token.type == "image":
                assert token.attrs["src"] == "a.png"


class TestText:
    def test_one_paragraph_a_block_and_one_line_an_item(self):
        html = "<h1>a<a href=#h> ¶</a></h1><ul><li>b<li>c</ul><p>d</p><p>e</p><table><tr><td>f<td>g</table>"
        html += "<h2>h<a href=#h><span class=x>&nbsp;#</span></a></h2><h3>i<a href=#i><s>#</s> j</a></h3>"

        assert drawn(html, "text", ["d"]) == "a\n\nb\nc\n\ne\n\nf\ng\n\nh\n\ni# j"


@pytest.mark.parametrize("mark", ["\x1c", "\x01", "\x1b"])
def test_text_of_control_characters_is_drawn_without_them_where_the_converter_refuses_it(mark):
    """Found by fuzzing: it takes such a text for binary, and raised."""
    assert drawn(f"<p>{mark * 60}tea{mark * 60}</p>", "markdown") == "tea"
    assert drawn(f"<p>One {mark} in a sentence.</p>", "markdown") == f"One {mark} in a sentence."


@pytest.mark.parametrize("output", ["markdown", "text", "html"])
def test_every_block_needs_a_verdict(output):
    with pytest.raises(ValueError, match=r"."):
        render(parsed("<p>a<p>b"), [True], output)


@given(pages, st.data())
def test_what_is_drawn_reads_as_the_blocks_that_were_kept(html, data):
    """So no dropped block takes another with it."""
    page = parsed(html)
    keep = data.draw(st.lists(st.booleans(), min_size=len(page.blocks), max_size=len(page.blocks)))
    kept = [fold(block.text) for block, is_kept in zip(page.blocks, keep, strict=True) if is_kept]

    assert [fold(block.text) for block in parsed(render(page, keep, "html")).blocks] == kept


@given(soups | pages, st.sampled_from(["html", "text", "markdown"]), st.data())
def test_no_dropped_block_takes_another_with_it(html, output, data):
    assume("<im" not in html.lower())  # a picture's description is shown, and no block's text
    page = parsed(html)
    assume(page.blocks)
    keep = data.draw(st.lists(st.booleans(), min_size=len(page.blocks), max_size=len(page.blocks)))
    kept = [block.text for block, is_kept in zip(page.blocks, keep, strict=True) if is_kept]

    result = render(page, keep, output)

    shown = "".join(block.text for block in parsed(result).blocks) if output == "html" else result
    if output == "markdown":
        shown = text_of(result)
    assert "".join(words(shown)) == "".join(word for text in kept for word in words(text))
