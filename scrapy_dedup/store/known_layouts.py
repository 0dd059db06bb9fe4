"""What a crawl and its commands ask of a project's store about layouts."""

from scrapy_dedup.store import layout_pictures, layout_reads, templates
from scrapy_dedup.store.codec import Packer
from scrapy_dedup.store.history import PageHistory
from scrapy_dedup.store.layout_batch import template_row
from scrapy_dedup.store.layout_pictures import PictureFacts, StoredPicture
from scrapy_dedup.store.layout_reads import Domains
from scrapy_dedup.store.layout_records import TemplateRecord, TemplateStateRecord
from scrapy_dedup.store.stored_layouts import (
    LayoutFigures,
    StoredAlarm,
    StoredSignature,
    StoredTemplate,
    TemplateFigures,
)


class KnownLayouts(PageHistory):
    """The part of `ProjectStore` that knows layouts and their templates."""

    def templates(self, domain: str, *, live_only: bool = True) -> list[StoredTemplate]:
        """Return the templates of a domain by which pages are cut, or all versions; by one query."""
        with self._database.transaction() as connection:
            return templates.of_domain(connection, self.id, domain, live_only=live_only)

    def template_versions(self, domain: str, layout: int) -> list[StoredTemplate]:
        """Return the versions of a layout's template that are kept, newest first."""
        with self._database.transaction() as connection:
            return templates.versions(connection, self.id, domain, layout)

    def template_domains(self, after: str = "", limit: int | None = None) -> list[str]:
        """Return the domains that have templates, in their order: so many behind a name, or all."""
        with self._database.transaction() as connection:
            return templates.domains(connection, self.id, after, limit)

    def template_figures(self, domain: Domains = None) -> list[TemplateFigures]:
        """Return all versions without their bodies, in the order of domains, layouts and versions."""
        return self._ask(templates.figures, domain)

    def add_template(self, record: TemplateRecord) -> int:
        """Add a version of a template, unless it equals the newest one; return the number of the one or the other."""
        row = template_row(record, self.id, Packer())
        with self._database.transaction(write=True) as connection:
            self._lock(connection)
            return templates.add(connection, row)

    def set_template_state(self, change: TemplateStateRecord) -> int | None:
        """Change the state of a version; return its number, None where there is no such version."""
        with self._database.transaction(write=True) as connection:
            self._lock(connection)
            return templates.set_state(connection, self.id, change)

    def layouts(self, domain: Domains = None) -> list[LayoutFigures]:
        """Return the layouts of a domain, of some or of all: in the order of domains, those with most pages first."""
        return self._ask(layout_reads.layouts, domain)

    def some_domains_with_layouts(self, limit: int, after: str = "") -> list[str]:
        """Return the first domains, by name, behind a name, of which layouts or templates are known."""
        with self._database.transaction() as connection:
            return layout_reads.some_domains(connection, self.id, limit, after)

    def signatures(self, domain: str) -> list[StoredSignature]:
        """Return the signatures of a domain, in the order of levels and hashes."""
        return self._ask(layout_reads.signatures, domain)

    def alarms(self, domain: Domains = None, *, open_only: bool = False) -> list[StoredAlarm]:
        """Return the alarms of a domain, of some or of all, newest first."""
        with self._database.transaction() as connection:
            return layout_reads.alarms(connection, self.id, domain, open_only=open_only)

    def pictures(self, domain: str) -> dict[int, StoredPicture]:
        """Return how pages of a domain's layouts look, by layout."""
        with self._database.transaction() as connection:
            return layout_pictures.of_domain(connection, self.id, domain)

    def picture_facts(self, domain: str) -> dict[int, PictureFacts]:
        """Return what is known of the pictures of a domain's layouts, by layout, without reading the pictures."""
        with self._database.transaction() as connection:
            return layout_pictures.facts_of_domain(connection, self.id, domain)

    def picture(self, domain: str, layout: int) -> StoredPicture | None:
        """Return how a page of a layout looks; None where nobody looked."""
        with self._database.transaction() as connection:
            return layout_pictures.get(connection, self.id, domain, layout)

    def put_picture(self, picture: StoredPicture) -> None:
        """Store how a page of a layout looks, in place of the layout's former picture."""
        with self._database.transaction(write=True) as connection:
            layout_pictures.put(connection, self.id, picture)
