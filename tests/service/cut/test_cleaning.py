import pytest

from scrapy_dedup.core.boilerplate.repeats import Boilerplate, hash_block
from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.core.pages.fingerprints import content_hash, from_hex, text_hash
from scrapy_dedup.service.cut.cleaning import clean_html, clean_text
from tests.core.builders import parsed

BANNER = "We use cookies to give you the best experience on our site. Accept all or choose your settings."
OWN = "This paragraph is what the page is about, and no other page of the whole site has it."


def a_page(html: str = "<nav>Menu</nav><main><h1>Title</h1><p>Own <b>text</b></p></main><footer>Menu</footer>") -> Page:
    return parsed(html)


def known(page: Page, *texts: str, pages: int = 44, on: int = 41) -> Boilerplate[int]:
    return Boilerplate(pages, {block.fingerprint: on for block in page.blocks if block.text in texts}, 99)


class TestHtml:
    @pytest.mark.parametrize("output", ["markdown", "text", "html"])
    def test_the_hash_of_what_is_left_does_not_depend_on_the_form(self, output):
        page = a_page()
        boilerplate = known(page, "Menu")

        cleaned = clean_html(page, boilerplate, output)

        assert cleaned.cleaned_hash == text_hash("title own text")
        assert cleaned.content_hash == content_hash(cleaned.content)

    @pytest.mark.parametrize("output", ["markdown", "text", "html"])
    def test_the_hash_of_what_goes_out_is_of_what_goes_out_where_a_heading_leads_to_itself(self, output):
        page = a_page('<h2 id="a">Install<a href="#a">\u00b6</a></h2><p>Run the installer.</p>')

        cleaned = clean_html(page, Boilerplate(0, {}, 0), output)

        assert "\u00b6" not in cleaned.content
        assert cleaned.content_hash == content_hash(cleaned.content)


class TestText:
    def test_parts_that_repeat_are_removed_with_the_reason(self):
        key = from_hex(hash_block(BANNER))

        cleaned = clean_text(f"{BANNER}\n\n# Title\n\n{OWN}", Boilerplate(9, {key: 8}, 30), 50)

        assert cleaned.content == f"\n\n# Title\n\n{OWN}"
        assert [
            (one.removal.fingerprint, one.path, one.text, one.removal.rule.evidence) for one in cleaned.removed
        ] == [(key, "", BANNER, "on 8 of 9 pages")]
        assert (cleaned.chars_removed, cleaned.cleaned_hash) == (len(BANNER), text_hash(f"# Title\n\n{OWN}"))

    @pytest.mark.parametrize("content", ["", "a\n\n\n\n\nb", f"  {OWN}\r\n\n\n\n", "\n"])
    def test_where_nothing_repeats_not_a_byte_changes(self, content):
        cleaned = clean_text(content, Boilerplate(9, {1: 9}, 30), 50)

        assert cleaned.content == content
        assert (cleaned.chars_removed, cleaned.removed) == (0, [])
        assert cleaned.content_hash == content_hash(cleaned.content)
