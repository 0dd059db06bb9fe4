from scrapy_dedup.core.pages.blocks import Page, parse_page


def parsed(html: str) -> Page:
    page = parse_page(html)
    assert isinstance(page, Page)
    return page
