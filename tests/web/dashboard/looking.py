"""What tests of the dashboard's pages look for in a page that is open."""

from urllib.parse import quote

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from scrapy_dedup.service.views.page_lists import PageChoice, list_pages
from scrapy_dedup.store.pages.reads import ListedPage
from tests.web.dashboard.filled import HARBOUR
from tests.web.dashboard.serving import Dashboard


def violations(page: Page) -> list[str]:
    """Return what axe complains of, each with the elements."""
    found = Axe().run(page).response["violations"]
    return [f"{one['id']}: {[node['target'] for node in one['nodes'][:3]]}" for one in found]


def harbour_pages(dashboard: Dashboard) -> list[ListedPage]:
    """Return the stored pages of the harbour's site that have items."""
    choice = PageChoice(domain=HARBOUR, status="completed", limit=200)
    return list(list_pages(dashboard.project, choice).pages)


def a_changed_page(dashboard: Dashboard) -> ListedPage:
    """Return a page of the harbour that the second crawl found changed."""
    return min((page for page in harbour_pages(dashboard) if page.verdict == "changed"), key=lambda page: page.url)


def layout_of(dashboard: Dashboard) -> str:
    """Return the layout of the harbour's pages."""
    told = dashboard.json("templates", "layouts", HARBOUR)
    return str(max(told["domains"][0]["layouts"], key=lambda one: one["visits"])["layout"])


def page_path(dashboard: Dashboard, page: ListedPage) -> str:
    return f"{dashboard.path('page')}?key={page.page_key.hex()}"


def config_path(dashboard: Dashboard, page: ListedPage) -> str:
    """Return the path of the harbour's configuration, with a page to look at."""
    return f"{dashboard.path('domains', HARBOUR, 'config')}?page={quote(page.url, safe='')}"
