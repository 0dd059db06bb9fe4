"""What stores hold is read by code that may have changed: another form needs another name of the schema."""

import hashlib
import json

from scrapy_dedup.core.chunks.chunks import ChunkPolicy, split_into_chunks
from scrapy_dedup.core.duplicates import files_hash, shingles, sketch_of
from scrapy_dedup.core.pages.blocks import Page, parse_page
from scrapy_dedup.core.pages.fingerprints import both_hashes, in_hex
from scrapy_dedup.core.templates.layouts import LayoutIndex, skeleton_of
from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.store.migrations import HEAD

FORMS = {"20261128": "57f5384f7746be5061bafffe8debee0006d240dfa4d6d6b260cca76cadf7ec12"}
"""Of each revision, what the forms below add up to."""

URLS = (
    "https://Example.com:443/a/../b?b=2&utm_source=x&a=1#top",
    "http://bücher.example/%7eann/",
    "http://127.0.0.1:8000/?q=é",
)
BODY = """<body class="shop page-12"><nav class="menu"><ul>
<li><a href="/a">Ärzte</a><li><a href="/b">B\u00a0c</a></ul></nav>
<main id="content"><h1>Price list</h1><p>Some words of a page,
<b>bold</b> and \u201cquoted\u201d, that are its own text.</p>
<table><tr><th>Item</th><td>1,299.00 EUR</td></tr></table><pre>x = 1\n  y = 2</pre><img alt="A picture" src="p.png">
<details><summary>Question?</summary><p>Answer: a<sup>2</sup> and 10<sup>6</sup>.</p></details></main>
<footer role="contentinfo"><p>\u00a9 2026 Example. Договор, 利用規約.</p></footer></body>"""


def forms() -> dict[str, object]:
    page = parse_page(f"<title>Prices</title>{BODY}")
    assert isinstance(page, Page)
    index = LayoutIndex()
    index.add(skeleton_of(page), 3)
    blocks = [(block.fingerprint, block.text) for block in page.blocks]
    text = " ".join(text for _, text in blocks)
    sketch = sketch_of(shingles(text), b"example.com")
    return {
        "pages": [page_key(url).hex() for url in URLS],
        "blocks": in_hex(page.fingerprints),
        "texts": [one.hex() for one in both_hashes(text)],
        "files": files_hash(BODY, blocks, URLS[2]).hex(),
        "layouts": index.to_json(),
        "sketch": [sketch.shingles, sketch.signature.hex(), list(sketch.bands)],
        "chunks": [[one.id, one.hash.hex()] for one in split_into_chunks(text, b"d" * 16, ChunkPolicy())],
    }


def test_a_store_of_another_form_has_another_revision():
    """Where this fails, name a new first revision in store/migrations: older stores are then refused, not misread."""
    told = json.dumps(forms(), sort_keys=True)

    assert {HEAD: hashlib.sha256(told.encode()).hexdigest()} == FORMS
