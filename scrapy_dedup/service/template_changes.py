"""A person's changes to a template, done or only tried: deciding about selectors, and going back to a version."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from scrapy_dedup.service import template_upkeep as upkeep
from scrapy_dedup.service.template_trial import TemplateTrial, try_template
from scrapy_dedup.service.template_upkeep import Decision
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.stored_layouts import StoredTemplate
from scrapy_dedup.store.writer import ProjectStore


@dataclass(frozen=True, slots=True)
class TemplateChange:
    """What was done to a template, or would be.

    Attributes:
        present: the version that was there.
        version: the one that is there now; None where a dry run made none.
        changed: False where all is as it was.
        trial: of a dry run.
    """

    present: StoredTemplate
    version: int | None
    changed: bool
    dry_run: bool
    trial: TemplateTrial | None


@dataclass(frozen=True, slots=True)
class TemplateDesk:
    """Where the templates of a project are changed at an instant; in a dry run they are only tried."""

    store: Store
    project: ProjectStore
    settings: Settings
    at: datetime
    dry_run: bool

    def override(self, domain: str, layout: str, decisions: Sequence[Decision]) -> TemplateChange:
        """Decide about selectors of a layout's template, which gives a new version.

        Raises:
            UnknownLayoutError, TemplateChoiceError: there is no such template, or no such decision to forget.
            SelectorError: a selector is none.
            StoreError: the store failed; nothing was written.
        """
        present = upkeep.present_of(self._versions(domain, layout))
        after = upkeep.decided(present, decisions, self.at)
        trial = version = None
        if after is not None and self.dry_run:
            trial = try_template(self.store, self.project, present, after, self.settings)
        elif after is not None:
            version = upkeep.add_decided(self.project, after, self.at)
        return TemplateChange(present, version, after is not None, self.dry_run, trial)

    def roll_back(self, domain: str, layout: str, number: int | None) -> TemplateChange:
        """Let a former version of a layout's template cut again: by its number, or the last one that did.

        Raises:
            UnknownLayoutError, TemplateChoiceError: there is no such template or version, or it is live.
            StoreError: the store failed; nothing was written.
        """
        versions = self._versions(domain, layout)
        present, chosen = upkeep.present_of(versions), upkeep.former_of(versions, number)
        trial = None
        if self.dry_run:
            trial = try_template(self.store, self.project, present, chosen, self.settings)
        else:
            upkeep.roll_back(self.project, chosen, present, self.at)
        return TemplateChange(present, chosen.version, changed=True, dry_run=self.dry_run, trial=trial)

    def _versions(self, domain: str, layout: str) -> list[StoredTemplate]:
        return upkeep.versions_of(self.project, domain, upkeep.layout_of(self.project, domain, layout))
