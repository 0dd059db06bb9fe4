"""What a page of the dashboard says, as plain text."""

from tests.web.dashboard.serving import Seen


def unfold(seen: Seen) -> None:
    """Open everything that is folded away: it must be as good as the rest."""
    seen.page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")


def plain(text: str) -> str:
    return " ".join(text.split())


def text_of(seen: Seen, selector: str) -> str:
    """Return the text of the first element, once the page is there with its style."""
    seen.page.wait_for_load_state("load")
    return plain(seen.page.locator(selector).first.inner_text())


def figure(seen: Seen, name: str, within: str = "main") -> str:
    return text_of(seen, f'{within} .numbers div:has(dt:text-is("{name}")) dd')


def cells(seen: Seen, table: str) -> list[list[str]]:
    """Return what the rows of a table say, their names first."""
    seen.page.wait_for_load_state("load")
    script = """table => [...table.tBodies[0].rows].map(row => [...row.cells].map(cell => cell.innerText.trim()))"""
    return [list(row) for row in seen.page.locator(table).first.evaluate(script)]
