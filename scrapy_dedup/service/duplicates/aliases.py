"""Which pages of a run are other addresses of pages of the same run, by their canonical links and their content."""

from collections import Counter, OrderedDict

from msgspec import Struct, field

from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.core.urls.canonical import (
    Address,
    Alias,
    CanonicalEvidence,
    CanonicalPolicy,
    Declaration,
    Own,
    judge,
    resolve,
)
from scrapy_dedup.core.urls.normal_form import UrlRules
from scrapy_dedup.core.urls.seen import KeyTable

# So many pages with different contents may declare one page canonical before it comes; a bound for templates' mistakes.
MOST_STANDING = 5
# Canonical pages that have not come, of 900 bytes each: one that comes after so many others is not compared with its
# own aliases, but still with all that the store holds, by the layers `title` and `duplicate`.
MOST_AWAITED = 50_000
# Of 300 bytes each. Declarations that lead in a circle are those of a few pages that link each other, and mostly come
# together; of a circle that is not seen, pages are left out only where their contents agree, too.
_MOST_DECLARED = 50_000


class Duplicate(Struct, frozen=True):
    """Why a page is dropped, and the key of the document that has its content."""

    reason: str
    document_key: bytes
    layer: str = "canonical"


class Aliases(Struct):
    """What the pages of a run declare about each other."""

    canonical_of: OrderedDict[bytes, bytes] = field(default_factory=OrderedDict)
    """Page key to the page key that it declares canonical, of the last pages that declare another one."""
    claims: KeyTable = field(default_factory=lambda: KeyTable("I"))
    """How many pages declare a page canonical, of all that were declared."""
    pages: Counter[str] = field(default_factory=Counter)
    """Pages by domain."""
    standing: dict[bytes, list[bytes]] = field(default_factory=dict)
    """Canonical page key to the keys of the aliases that went out for it before it came; of the last ones."""

    def stand(self, canonical_key: bytes, page_key: bytes) -> None:
        """Note that a page went out for another one that has not come yet."""
        if canonical_key not in self.standing and len(self.standing) >= MOST_AWAITED:
            del self.standing[next(iter(self.standing))]
        aliases = self.standing.setdefault(canonical_key, [])
        if len(aliases) < MOST_STANDING and page_key not in aliases:
            aliases.append(page_key)

    def candidates(self, page_key: bytes, target: Address | None) -> list[Duplicate]:
        """Return which pages may stand for one, and why.

        Args:
            page_key: of the page.
            target: the page that it declares canonical, where it is believed.
        """
        standing = self.standing
        found = [Duplicate("another address of this page went out before", key) for key in standing.get(page_key, ())]
        if target is not None:
            keys = [target.page_key, *standing.get(target.page_key, ())]
            found += [Duplicate(f"canonical link to {target.url[:500]}", key) for key in keys]
        return [one for one in found if one.document_key != page_key]

    def go_out(self, page_key: bytes, target: Address | None) -> None:
        """Note that a page goes out; target: that it declares canonical, where that has not come."""
        # Whatever declares this page canonical is from now on compared with the page itself.
        self.standing.pop(page_key, None)
        if target is not None:
            self.stand(target.page_key, page_key)

    def withdraw(self, canonical_key: bytes, page_key: bytes) -> None:
        """Forget that a page went out for another one: it did not."""
        aliases = self.standing.get(canonical_key, [])
        if page_key in aliases:
            aliases.remove(page_key)

    def judge(
        self, url: str, page_key: bytes, domain: str, page: Page, policy: CanonicalPolicy, rules: UrlRules
    ) -> Alias | Own:
        """Decide about a page's declaration, and count it."""
        return self.judge_declaration(declaration_of(url, page), page_key, domain, policy, rules)

    def judge_declaration(
        self, declaration: Declaration, page_key: bytes, domain: str, policy: CanonicalPolicy, rules: UrlRules
    ) -> Alias | Own:
        """Decide about what a page declares, and count it."""
        self.pages[domain] += 1
        target = resolve(declaration, rules)
        if isinstance(target, Own):
            return target
        self.canonical_of[page_key] = target.page_key
        if len(self.canonical_of) > _MOST_DECLARED:
            self.canonical_of.popitem(last=False)
        claims = (self.claims.get(target.page_key) or 0) + 1
        self.claims.put(target.page_key, claims)
        evidence = CanonicalEvidence(self.pages[domain], claims, self.canonical_of)
        return judge(declaration, evidence, policy, rules)


def declaration_of(url: str, page: Page) -> Declaration:
    """Return what a page says of its addresses."""
    return Declaration(url, page.canonicals, page.base, page.lang, page.alternates)
