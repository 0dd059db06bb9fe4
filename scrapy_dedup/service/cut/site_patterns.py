"""What selectors and expressions leave out of the pages of one site; compiled once, then asked of each page."""

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from msgspec import Struct, field

from scrapy_dedup.core.boilerplate.repeats import Removal, RemovalRule
from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.core.pages.fingerprints import from_hex
from scrapy_dedup.core.pages.marking import (
    GENERIC_SELECTORS,
    Marking,
    SelectorError,
    TagSelectors,
    check_any_selector,
    mark,
)
from scrapy_dedup.core.patterns import (
    Expressions,
    HeldBack,
    PatternError,
    PatternHeld,
    PatternMatches,
    SiteConfig,
    check_expressions,
    compile_expressions,
    get_site_config_with_db_overrides,
)
from scrapy_dedup.settings import Settings, public_name

# Of the text that is left of a page. More than this is its content, whatever a selector of all sites says.
_MOST_GENERIC: Final = 0.5
# And more than this leaves no page: a selector of the site itself then was meant for other pages.
_MOST_OF_PAGE: Final = 0.95
_CONTENT_STEPS: Final = ("main", "article")

logger = logging.getLogger(__name__)

PATTERNS: Final = "patterns"
TEXT_PATTERN: Final = "text pattern"
PDF_PATTERN: Final = "pdf pattern"
"""Names of the rules of expressions."""
_CHECKED: Final = ("boilerplate_css_selectors", "boilerplate_text_patterns", "pdf_boilerplate_patterns")
_MOST_CHARS_OF_FILE: Final = 10_000_000
_MOST_INSTRUCTIONS_OF_FILE: Final = 5_000_000
# An expression that took too long on so many pages is not run again.
_MOST_TIMEOUTS: Final = 3


class Target(NamedTuple):
    """A selector, and what it stands for."""

    selector: str
    rule: RemovalRule
    is_generic: bool
    outside_content: bool = False


@lru_cache(maxsize=8_192)
def _is_in_content(path: str) -> bool:
    """Whether a path leads through the page's content."""
    return any(step.partition(".")[0].partition("#")[0] in _CONTENT_STEPS for step in path.split(">"))


class JudgedBlocks(NamedTuple):
    """What becomes of a page's blocks."""

    removals: list[Removal | None]
    shadowed: list[Removal | None]
    """What would go, were the layer not in the shadow; one value a block."""
    held: tuple[HeldBack, ...] = ()


class Strikes(Struct):
    """Expressions that took too long, and those that are not run any more."""

    counts: Counter[str] = field(default_factory=Counter)
    off: set[str] = field(default_factory=set)

    def note(self, held: Iterable[HeldBack]) -> None:
        """Count what took too long; what did so too often is switched off, which is told once."""
        for pattern, reason in held:
            if reason is not PatternHeld.TIMEOUT:
                continue
            self.counts[pattern] += 1
            if self.counts[pattern] >= _MOST_TIMEOUTS and pattern not in self.off:
                self.off.add(pattern)
                logger.warning("The pattern %a took too long on %d pages: it is not run now", pattern, _MOST_TIMEOUTS)


class SitePatterns(Struct, frozen=True, eq=False):
    """What is left out of, and kept on, the pages of one site."""

    acts: bool
    """Whether it is carried out; where neither this nor the next, only what is to be kept counts."""
    shadows: bool
    targets: tuple[Target, ...]
    """The site's own first: of two selectors that match a block the first is its reason."""
    text: Expressions
    pdf: Expressions
    keep_blocks: frozenset[int]
    keep_pages: frozenset[bytes]
    keep_rules: frozenset[str]
    strikes: Strikes = field(default_factory=Strikes)

    def judge(
        self, html: str, page: Page, removals: Sequence[Removal | None], protected: Sequence[bool] | None = None
    ) -> JudgedBlocks:
        """Return what becomes of a page's blocks.

        *html*, what the page was parsed from, is empty where it is not at hand: then no selector acts. *removals* say
        what other layers say of each block, *protected* whether something better than a generic selector knows that it
        is content.
        """
        kept = list(removals)
        if self.keep_blocks or self.keep_rules:
            kept = [None if self.stays(removal) else removal for removal in kept]
        nothing: list[Removal | None] = [None] * len(kept)
        if not html or not (self.acts or self.shadows):
            return JudgedBlocks(kept, nothing)
        more, held = self._selected(html, page, kept, protected or [False] * len(kept))
        if self.shadows:
            return JudgedBlocks(kept, more, held)
        return JudgedBlocks([one or other for one, other in zip(kept, more, strict=True)], nothing, held)

    def keeps_page(self, page_key: bytes) -> bool:
        """Whether nothing may be left out of a page."""
        return page_key in self.keep_pages

    def find(self, markdown: str) -> PatternMatches:
        """Return what the expressions match in a page's Markdown."""
        found = self.text.find(markdown, self.strikes.off)
        self.strikes.note(found.held)
        return found

    def find_in_pdf(self, text: str) -> PatternMatches:
        """Return what the expressions for PDF files match in the text of one."""
        found = self.pdf.find(text, self.strikes.off)
        self.strikes.note(found.held)
        return found

    def stays(self, removal: Removal | None) -> bool:
        """Whether a block is kept, although a layer says that it goes."""
        return removal is not None and (
            removal.fingerprint in self.keep_blocks or not self.keep_rules.isdisjoint(names_of(removal.rule))
        )

    def _selected(
        self, html: str, page: Page, removals: Sequence[Removal | None], protected: Sequence[bool]
    ) -> tuple[list[Removal | None], tuple[HeldBack, ...]]:
        left = [place for place, one in enumerate(removals) if one is None]
        if all(protected[place] or page.blocks[place].fingerprint in self.keep_blocks for place in left):
            targets = [one for one in self.targets if not one.is_generic]
        else:
            targets = list(self.targets)
        found: list[Removal | None] = [None] * len(removals)
        if not targets or not left:
            return found, ()
        marking = _marking(html, page, targets)
        taken, held = self._taken(page, left, targets, marking, protected)
        if len(taken) == len(left):
            names = dict.fromkeys(rule.path for rule in taken.values())
            return found, (*held, *(HeldBack(name, PatternHeld.WHOLE_PAGE) for name in names))
        for place, rule in taken.items():
            found[place] = Removal(page.blocks[place].fingerprint, rule)
        return found, tuple(held)

    def _taken(
        self, page: Page, left: Sequence[int], targets: Sequence[Target], marking: Marking, protected: Sequence[bool]
    ) -> tuple[dict[int, RemovalRule], list[HeldBack]]:
        """Return which of the blocks that are left selectors take, and what is not carried out."""
        blocks, taken = page.blocks, dict[int, RemovalRule]()
        held = [HeldBack(targets[number].selector, PatternHeld.TOO_MUCH_WORK) for number in sorted(marking.too_costly)]
        may_go = [place for place in left if blocks[place].fingerprint not in self.keep_blocks]
        most = sum(len(blocks[place].text) for place in left)
        for number in sorted(frozenset[int]().union(*set(marking.blocks))):
            target = targets[number]
            own = [place for place in may_go if number in marking.blocks[place]]
            if target.outside_content:
                own = [place for place in own if not _is_in_content(blocks[place].path)]
            # Protected blocks count: what is around most of a page is no box beside it, whoever knows its parts.
            chars = sum(len(blocks[place].text) for place in own)
            if target.is_generic and chars > _MOST_GENERIC * most:
                held.append(HeldBack(target.selector, PatternHeld.PROTECTED))
            elif chars > _MOST_OF_PAGE * most:
                held.append(HeldBack(target.selector, PatternHeld.WHOLE_PAGE))
            else:
                for place in own:
                    if not (target.is_generic and protected[place]):
                        taken.setdefault(place, target.rule)
        return taken, held


def _marking(html: str, page: Page, targets: Sequence[Target]) -> Marking:
    """Return what selectors match; where they are those of all sites alone no second tree is needed to tell."""
    selectors = tuple(one.selector for one in targets)
    if all(one.is_generic for one in targets) and (found := _tag_selectors(selectors).marks(page)) is not None:
        return Marking(found)
    return mark(html, page, selectors)


_tag_selectors = lru_cache(maxsize=64)(TagSelectors)


def names_of(rule: RemovalRule) -> tuple[str, ...]:
    """Return by what a rule can be named that is not to be carried out."""
    return (rule.name, rule.path, f"{rule.name}: {rule.path}") if rule.path else (rule.name,)


def patterns_of(settings: Settings, config: SiteConfig | None = None, origin: str = "") -> SitePatterns:
    """Return what holds for the pages of a site; made once for the same settings and configuration.

    *config* is what is stored for the site, None for nothing; *origin* is its domain, for messages.

    Raises:
        PatternError: a selector or an expression cannot be used; the message names it, its kind and where it stands.
    """
    acts, shadows = PATTERNS in settings.acting, PATTERNS in settings.shadowing
    switches = _Switches(acts, shadows, settings.generic_selectors, settings.allow_slow_patterns)
    return _compiled(switches, project_config(settings), config or SiteConfig(), origin)


def project_config(settings: Settings) -> SiteConfig:
    """Return what the settings say for all sites."""
    return SiteConfig(
        tuple(settings.boilerplate_css_selectors),
        tuple(settings.boilerplate_text_patterns),
        tuple(settings.pdf_boilerplate_patterns),
    )


class _Switches(NamedTuple):
    acts: bool
    shadows: bool
    generic: bool
    allow_slow: bool


@lru_cache(maxsize=1_024)
def _compiled(switches: _Switches, project: SiteConfig, site: SiteConfig, origin: str) -> SitePatterns:
    check_config(project, None, allow_slow=switches.allow_slow)
    check_config(site, origin, allow_slow=switches.allow_slow)
    config = get_site_config_with_db_overrides(project, site)
    keep = frozenset(config.keep_rules)
    targets = [
        Target(one, RemovalRule("selector of the site", "somebody said so", path=one, layer=PATTERNS), is_generic=False)
        for one in config.boilerplate_css_selectors
    ]
    if switches.generic:
        targets += _OF_ALL_SITES
    return SitePatterns(
        acts=switches.acts,
        shadows=switches.shadows,
        targets=tuple(one for one in targets if keep.isdisjoint(names_of(one.rule))),
        text=_expressions(config.boilerplate_text_patterns, TEXT_PATTERN, keep, allow_slow=switches.allow_slow),
        pdf=_expressions(config.pdf_boilerplate_patterns, PDF_PATTERN, keep, allow_slow=switches.allow_slow),
        keep_blocks=frozenset(map(from_hex, config.keep_blocks)),
        keep_pages=frozenset(map(bytes.fromhex, config.keep_pages)),
        keep_rules=keep,
    )


def _expressions(sources: Iterable[str], name: str, keep: frozenset[str], *, allow_slow: bool) -> Expressions:
    wanted = [one for one in sources if keep.isdisjoint(names_of(text_rule(one, name)))]
    return compile_expressions(wanted, allow_slow=allow_slow)


# Once: for each site of a crawl they would take 10 kB.
_OF_ALL_SITES: Final = tuple(
    Target(
        one.selector,
        RemovalRule("selector of all sites", one.reason, path=one.selector, layer=PATTERNS),
        is_generic=True,
        outside_content=one.outside_content,
    )
    for one in GENERIC_SELECTORS
)


@lru_cache(maxsize=4_096)
def text_rule(pattern: str, name: str = TEXT_PATTERN) -> RemovalRule:
    """Return the rule by which text goes that an expression matches: TEXT_PATTERN, or PDF_PATTERN."""
    return RemovalRule(name, "somebody said so", path=pattern, layer=PATTERNS)


def check_configs(found: Mapping[str, SiteConfig], *, allow_slow: bool) -> None:
    """Raise unless the configurations of all domains of a file can be used, and are checked in some seconds.

    Raises:
        PatternError: an entry cannot be used, or all of them together are too large.
    """
    chars = size = 0
    for domain, config in found.items():
        chars += sum(len(one) for key in _CHECKED for one in getattr(config, key))
        size += check_config(config, domain, allow_slow=allow_slow) if chars <= _MOST_CHARS_OF_FILE else 0
        if chars > _MOST_CHARS_OF_FILE or size > _MOST_INSTRUCTIONS_OF_FILE:
            raise PatternError(f"up to {domain} there is more to check than a file may have: divide it")


def check_config(config: SiteConfig, domain: str | None, *, allow_slow: bool) -> int:
    """Raise unless all of a configuration can be used; return how many instructions its expressions have.

    *domain* None: it is that of the settings. With *allow_slow* expressions may take longer than linear time.

    Raises:
        PatternError: an entry cannot be used; the message names it, its kind and where it stands.
    """
    for selector in config.boilerplate_css_selectors:
        try:
            check_any_selector(selector)
        except SelectorError as error:
            raise PatternError(f"{_where('boilerplate_css_selectors', domain)}: {error}") from error
    size = 0
    for key in _CHECKED[1:]:
        try:
            size += check_expressions(getattr(config, key), allow_slow=allow_slow)
        except PatternError as error:
            raise PatternError(f"{_where(key, domain)}: {error}") from error
    return size


def _where(key: str, domain: str | None) -> str:
    return public_name(key) if domain is None else f"{key} of {domain or 'a site'}"
