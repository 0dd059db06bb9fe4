import re
from collections.abc import Iterator, Sequence
from typing import Literal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from scrapy_dedup.core.fingerprints import fold
from scrapy_dedup.core.render import Output, render
from tests.core.builders import parsed
from tests.core.html_soup import pages, soups

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


class TestHtml:
    @pytest.mark.parametrize(
        ("html", "drop", "expected"),
        [
            pytest.param("<div class=x><p onclick=y>a</p></div>", [], "<p>a</p>", id="structure-alone"),
            pytest.param("a<div>b</div>", [], "<p>a</p><p>b</p>", id="text-gets-a-paragraph"),
            pytest.param("<ul><li>a<li>b</ul>", ["a"], "<ul><li>b</li></ul>", id="dropped-item"),
            pytest.param("<ul><li>a</ul><p>b", ["a"], "<p>b</p>", id="nothing-empty"),
            pytest.param("<p>a<br><br>b</p>", [], "<p>a<br><br>b</p>", id="two-blocks-in-a-paragraph"),
            pytest.param("<li>a<p>b</p>c</li>", [], "<li>a<p>b</p><p>c</p></li>", id="blocks-in-an-item"),
            pytest.param("<pre>a<div>b</div></pre>", [], "<pre>a\nb</pre>", id="lines-of-code"),
            pytest.param("<b>a<p>b</p></b>", [], "<p><b>a</b></p><p><b>b</b></p>", id="mark-around-blocks"),
            pytest.param("<p>a<b></b><i> </i><a href=x></a>b</p>", [], "<p>a b</p>", id="marks-around-nothing"),
            pytest.param("<p><a name=x>a</a></p>", [], "<p>a</p>", id="anchor"),
            pytest.param("<p>&lt;b&gt; &amp;amp; &nbsp;x</p>", [], "<p>&lt;b&gt; &amp;amp; &nbsp;x</p>", id="escapes"),
            pytest.param("<ol start=3><li>a</ol>", [], '<ol start="3"><li>a</li></ol>', id="start"),
            pytest.param("<ol start=x1><li>a</ol>", [], "<ol><li>a</li></ol>", id="wrong-start"),
            pytest.param("<pre><pre>a</pre></pre>", [], "<pre>a</pre>", id="code-in-code"),
            pytest.param("<p>a</p>", ["a"], "", id="nothing-left"),
        ],
    )
    def test_drawn_as(self, html: str, drop: list[str], expected: str) -> None:
        assert drawn(html, "html", drop) == expected

    @pytest.mark.parametrize(
        ("html", "drop", "expected"),
        [
            pytest.param("<img src=i><p>a</p>", [], '<img src="i"><p>a</p>', id="before-a-kept-block"),
            pytest.param("<img src=i><p>a</p><p>b</p>", ["a"], "<p>b</p>", id="before-a-dropped-block"),
            pytest.param("<p>a</p><img src=i>", [], "<p>a</p>", id="before-none"),
            pytest.param(
                "<figure><img src=i><figcaption>a</figure>",
                [],
                '<figure><img src="i"><figcaption>a</figcaption></figure>',
                id="figure",
            ),
            pytest.param("<p><img src=i></p><p>a</p>", [], '<p><img src="i"></p><p>a</p>', id="stays-in-its-paragraph"),
            pytest.param("<li>a<div><img src=i></div></li>b", ["b"], '<li>a<img src="i"></li>', id="in-what-is-drawn"),
            pytest.param(
                "<p>a<img src=i alt='x\"<b>'></p>", [], '<p>a<img src="i" alt="x&quot;&lt;b&gt;"></p>', id="within-text"
            ),
            pytest.param("<p>a<img src='data:x'><img alt=b></p>", [], "<p>a</p>", id="no-address"),
            pytest.param("<p><img src='javascript:x'></p><p>a", [], "<p></p><p>a</p>", id="hostile-address"),
        ],
    )
    def test_pictures_go_with_the_block_after_them(self, html: str, drop: list[str], expected: str) -> None:
        assert drawn(html, "html", drop) == expected

    @pytest.mark.parametrize(
        ("rows", "drop", "expected"),
        [
            pytest.param("<tr><td>a<td>b<td>c", ["b"], "<tr><td>a</td><td></td><td>c</td></tr>", id="middle"),
            pytest.param("<tr><td>a<td>b", ["a"], "<tr><td></td><td>b</td></tr>", id="first"),
            pytest.param("<tr><th>a<td>b", ["a"], "<tr><th></th><td>b</td></tr>", id="head"),
            pytest.param("<tr><td>a<td>b", ["b"], "<tr><td>a</td><td></td></tr>", id="last"),
            pytest.param("<tr><td>a<td>b<tr><td>c<td>d", ["a", "b"], "<tr><td>c</td><td>d</td></tr>", id="row"),
            pytest.param(
                "<tr><td>a<td colspan=2>b<td>c", ["b"], '<tr><td>a</td><td colspan="2"></td><td>c</td></tr>', id="wide"
            ),
            pytest.param(
                "<tr><td>a<td><img src=i><td>c",
                [],
                '<tr><td>a</td><td><img src="i"></td><td>c</td></tr>',
                id="picture-in-a-row",
            ),
            pytest.param(
                "<tr><td><img src=i><td>b<td>c",
                ["b"],
                "<tr><td></td><td></td><td>c</td></tr>",
                id="picture-before-a-dropped-cell",
            ),
            pytest.param(
                "<tr><td><img src=i><td><tr><td>c<td>d",
                [],
                '<tr><td><img src="i"></td><td></td></tr><tr><td>c</td><td>d</td></tr>',
                id="row-of-pictures",
            ),
            pytest.param("<tr><td>a<p>b</p><td>c", [], "<tr><td>a<p>b</p></td><td>c</td></tr>", id="blocks-in-a-cell"),
            pytest.param(
                "<tr><td rowspan=2>a<td>b<tr><td>c<tr><td>d<td>e",
                [],
                "<tr><td>a</td><td>b</td></tr><tr><td></td><td>c</td></tr><tr><td>d</td><td>e</td></tr>",
                id="cell-that-reaches-down",
            ),
            pytest.param(
                "<tr><td>a<td rowspan=3>b<tr><td>c<tr><td>d",
                [],
                "<tr><td>a</td><td>b</td></tr><tr><td>c</td><td></td></tr><tr><td>d</td><td></td></tr>",
                id="last-cell-that-reaches-down",
            ),
        ],
    )
    def test_tables_keep_their_columns(self, rows: str, drop: list[str], expected: str) -> None:
        assert drawn(f"<table>{rows}</table>", "html", drop) == f"<table><tbody>{expected}</tbody></table>"

    @pytest.mark.parametrize(
        ("html", "expected"),
        [
            pytest.param("<table><tr><td>a<tr><td>b</table>", "<p>a</p><p>b</p>", id="one-column"),
            pytest.param(
                "<table><tr><td>a<td><table><tr><td>b<td>c</table></table>",
                "<p>a</p><table><tbody><tr><td>b</td><td>c</td></tr></tbody></table>",
                id="table-in-a-table",
            ),
            pytest.param("<table><tr><td><pre>1</pre><td><pre>x</pre></table>", "<pre>1</pre><pre>x</pre>", id="code"),
        ],
    )
    def test_tables_that_lay_out_are_drawn_as_their_text(self, html: str, expected: str) -> None:
        assert drawn(html, "html") == expected


@pytest.mark.parametrize(
    ("href", "expected"),
    [
        ("https://a.example/x?b=1&amp;c=2", "https://a.example/x?b=1&amp;c=2"),
        ("x.html", "https://site.example/dir/x.html"),
        ("#part", "https://site.example/dir/page.html#part"),
        ("//cdn.example/x", "https://cdn.example/x"),
        ("mailto:a@b.example", "mailto:a@b.example"),
        ("a b<c>&quot;", "https://site.example/dir/a%20b%3Cc%3E%22"),
        ("HTTPS://A.example/", "https://A.example/"),
        ("javascript:alert(1)", None),
        ("  JavaScript:alert(1)", None),
        ("java&#10;script:alert(1)", None),
        ("&#1;javascript:alert(1)", None),
        ("data:text/html,x", None),
        ("vbscript:x", None),
        ("file:///etc/passwd", None),
        ("http://[broken", None),
        ("x" * 5_000, None),
    ],
)
def test_links_lead_somewhere_or_are_text(href: str, expected: str | None) -> None:
    link = f'<p><a href="{expected}">a</a></p>' if expected else "<p>a</p>"

    assert drawn(f'<p><a href="{href}">a</a></p>', "html", base_url=BASE) == link


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("/other/", "https://site.example/other/x"),
        ("https://cdn.example/", "https://cdn.example/x"),
        ("javascript:alert(1)", "https://site.example/dir/x"),
        ("http://[broken", "https://site.example/dir/x"),
    ],
)
def test_a_page_may_name_its_base(base: str, expected: str) -> None:
    html = f'<head><base href="{base}"></head><p><a href=x>a</a>'

    assert drawn(html, "html", base_url=BASE) == f'<p><a href="{expected}">a</a></p>'
    assert drawn(html, "html") == '<p><a href="x">a</a></p>'


class TestMarkdown:
    @pytest.mark.parametrize(
        ("html", "expected"),
        [
            pytest.param("<p>&lt;script&gt;alert(1)&lt;/script&gt;", r"\<script>alert(1)\</script>", id="tag"),
            pytest.param("<p>&lt;<sub>script&gt;</sub>", r"\<script>", id="tag-in-two-elements"),
            pytest.param("<p>a &lt; b, 1&lt;2, &lt;= &lt;3", "a < b, 1<2, <= <3", id="less-than"),
            pytest.param("<p>&amp;lt; &amp;#60; R&amp;D &amp; x", r"\&lt; \&#60; R&D & x", id="entity"),
            pytest.param("<p>[a](javascript:x) [a]: x", r"[a]\(javascript:x) [a]\: x", id="link"),
            pytest.param("<p>[a]<b>(javascript:x)</b>", r"[a]**\(javascript:x)**", id="link-in-two-elements"),
            pytest.param("<p>*a* 2 * 3 __init__ a_b _c", r"\*a\* 2 * 3 \_\_init\_\_ a_b \_c", id="emphasis"),
            pytest.param("<p>`a` ~~b~~", r"\`a\` \~~b\~~", id="code-and-strikethrough"),
            pytest.param("<p><code>&lt;b&gt; *a* `</code>", "`` <b> *a* ` ``", id="code-is-literal"),
            pytest.param("<p># a<p>- b<p>1. c<p>&gt; d", "\\# a\n\n\\- b\n\n1\\. c\n\n\\> d", id="start-of-a-line"),
            pytest.param("<p>a\n# b\n1. c", "a # b 1. c", id="lines-of-the-source"),
            pytest.param("<p>\\&lt;b> C:\\d \\* \\", r"\\\<b> C:\d \\\* \\", id="backslash"),
            pytest.param("<p>\ufdd0*a*", r"\*a\*", id="the-mark-itself"),
            pytest.param("<p>a<img src=i alt='&lt;b>'>", r"a![\<b>](i)", id="description-of-a-picture"),
            pytest.param("<h2>a<img src=i alt=b> c</h2>", "## a![b](i) c", id="picture-in-a-heading"),
            pytest.param("<pre class=language-c>a *b*\n\n  &lt;c></pre>", "```c\na *b*\n\n  <c>\n```", id="code-block"),
            pytest.param("<pre>a <a href=x>b</a><br><i>c</i></pre>", "```\na b\nc\n```", id="marks-in-code"),
            pytest.param("<pre><code class='hljs lang-sh'>a</code></pre>", "```\na\n```", id="language-of-code-in-pre"),
            pytest.param("<div class=highlight-rust><pre>a</pre></div>", "```rust\na\n```", id="language-of-a-parent"),
            pytest.param("<div class=highlight-default><pre>a</pre></div>", "```\na\n```", id="no-language"),
            pytest.param("<pre>```</pre>", "````\n```\n````", id="fence-in-code"),
            pytest.param("<ul><li>a<ol><li>b</ol><li>c</ul>", "- a\n  1. b\n- c", id="nested-lists"),
            pytest.param("<ul><li><pre>a\nb</pre></ul>", "- ```\n  a\n  b\n  ```", id="code-in-a-list"),
            pytest.param(
                "<table><tr><th>a|b<th>c<tr><td>d<br>e<td>f</table>",
                "| a\\|b | c |\n| --- | --- |\n| d e | f |",
                id="table",
            ),
            pytest.param("<dl><dt>a<dd>b<dd>c</dl>", "a\n\nb\n\nc", id="definitions"),
            pytest.param("<blockquote>a<p>b</blockquote>", "> a\n>\n> b", id="quote"),
            pytest.param("<h1>a</h1><h6>b</h6>", "# a\n\n###### b", id="headings"),
            pytest.param("<a href=x><h2>a</h2><p>b</p></a>", "## [a](x)\n\n[b](x)", id="link-around-blocks"),
            pytest.param("<p>a <b>b</b><i>c</i> <s>d</s> <kbd>e</kbd>", "a **b***c* ~~d~~ `e`", id="marks"),
            pytest.param("<p>", "", id="nothing"),
        ],
    )
    def test_drawn_as(self, html: str, expected: str) -> None:
        assert drawn(html, "markdown") == expected

    def test_in_endless_texts_tags_and_links_are_literal(self) -> None:
        text = "*a* &lt;b> [c](d) " * 50_000

        assert drawn(f"<p>{text}", "markdown") == (r"*a* \<b> [c]\(d) " * 50_000).strip()

    @given(soups, st.data())
    def test_what_was_text_is_no_markup(self, html: str, data: st.DataObject) -> None:
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
    def test_one_paragraph_a_block_and_one_line_an_item(self) -> None:
        html = "<h1>a</h1><ul><li>b<li>c</ul><p>d</p><p>e</p><table><tr><td>f<td>g</table>"

        assert drawn(html, "text", ["d"]) == "a\n\nb\nc\n\ne\n\nf\ng"


@pytest.mark.parametrize("output", ["markdown", "text", "html"])
def test_every_block_needs_a_verdict(output: Output) -> None:
    with pytest.raises(ValueError, match=r"."):
        render(parsed("<p>a<p>b"), [True], output)


@given(pages, st.data())
def test_what_is_drawn_reads_as_the_blocks_that_were_kept(html: str, data: st.DataObject) -> None:
    """So no dropped block takes another with it."""
    page = parsed(html)
    keep = data.draw(st.lists(st.booleans(), min_size=len(page.blocks), max_size=len(page.blocks)))
    kept = [fold(block.text) for block, is_kept in zip(page.blocks, keep, strict=True) if is_kept]

    assert [fold(block.text) for block in parsed(render(page, keep, "html")).blocks] == kept


@given(soups | pages, st.sampled_from(["html", "text", "markdown"]), st.data())
def test_no_dropped_block_takes_another_with_it(
    html: str, output: Literal["html", "text", "markdown"], data: st.DataObject
):
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
