"""Strategies for HTML: well-formed pages, and anything that a server may send."""

from hypothesis import strategies as st

_INLINE = "a b i em strong code span sub sup q kbd s font small u label cite".split()
_BLOCKS = (
    "p div h1 h3 ul ol li dl dt dd table tr td th tbody caption pre blockquote figure figcaption details summary "
    "section x-card form center fieldset button select option svg math object ruby rt noscript template"
).split()
_LONE = [
    *"<br> <hr> <input> <wbr> <svg><path/></svg> <!--> </br> </p> <plaintext> <frameset> <![CDATA[x]]>".split(" "),
    "<img src=a.png alt=b>",
    "<!-- c -->",
    "<script>if (a < b) '<p>'</script>",
    "<style>p > a {}</style>",
    "<xmp><b></xmp>",
    "<textarea><p></textarea>",
    "<title>t</title>",
    "<?php ?>",
    '<a href="javascript:x">',
    "<td colspan=3 rowspan=2>",
]
_WORDS = ["word", "two words", " ", "\n", "&lt;b&gt;", "&amp;lt;", "a < b", "漢字", "שלום", "\u00ad"]
_WORDS += ["\u200b", "&nbsp;"]
_WORDS += ["*x*", "_y_", "`z`", "[l](javascript:m)", "# h", "- i", "1. j", "|k|", "~~n~~", "\\", "]: o", "<3", "R&D"]
_ATTRIBUTES = ["", " class='a b1'", ' id="x"', ' href="/y?a=1&b=2"', ' title="a > b"', " q='<p>'"]
_ATTRIBUTES += [' class="language-c"']

_start = st.builds("<{}{}>".format, st.sampled_from(_INLINE + _BLOCKS), st.sampled_from(_ATTRIBUTES))
_end = st.builds("</{}>".format, st.sampled_from(_INLINE + _BLOCKS))
_piece = st.one_of(_start, _end, st.sampled_from(_LONE), st.sampled_from(_WORDS))

soups = st.lists(_piece, max_size=40).map("".join)
"""Tags in any order, closed or not."""

anything = st.one_of(
    soups,
    st.text(max_size=60),
    st.text(alphabet="<>/!-'\"= abp&;#\0\n", max_size=60),
    st.lists(st.text(max_size=9)).map("<".join),
)


def _element(names: list[str], inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(lambda name, text: f"<{name}>{text}</{name}>", st.sampled_from(names), inner)


_text = st.text(alphabet="ab c.漢é", min_size=1, max_size=8).map(lambda text: f"{text}x")
_prose = st.lists(st.one_of(_text, _element(["b", "i", "code", "span", "a"], _text)), min_size=1, max_size=3).map(
    "".join
)
_cell = _element(["td", "th"], _prose)
_row = st.lists(_cell, min_size=1, max_size=3).map(lambda cells: f"<tr>{''.join(cells)}</tr>")
_table = st.lists(_row, min_size=1, max_size=3).map(lambda rows: f"<table><tbody>{''.join(rows)}</tbody></table>")
_item = _element(["li"], _prose)
_list = (
    st.lists(_item, min_size=1, max_size=3).map("".join).flatmap(lambda items: _element(["ul", "ol"], st.just(items)))
)
_flow = st.one_of(_element(["p", "h2", "div", "blockquote", "pre", "x-card"], _prose), _table, _list)

pages = st.lists(
    st.one_of(_flow, st.lists(_flow, max_size=3).map(lambda parts: f"<div>{''.join(parts)}</div>")), max_size=6
).map("\n".join)
"""Well formed: every element is closed and stands where it may."""
