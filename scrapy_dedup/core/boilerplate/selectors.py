"""Selectors of what is no content on any site, each with its reason; they judge only what nothing better knows."""

from typing import Final, NamedTuple


class GenericSelector(NamedTuple):
    """A selector that holds on any site."""

    selector: str
    reason: str
    outside_content: bool = False
    """Within `main` and `article` it means something else, and there matches nothing."""


GENERIC_SELECTORS: Final[tuple[GenericSelector, ...]] = (
    # Elements and roles that HTML and ARIA made for what surrounds content.
    GenericSelector("nav", "HTML's element for ways through a site"),
    GenericSelector("header", "a page's head; within an article it is the article's own", outside_content=True),
    GenericSelector("footer", "a page's foot; within an article it may hold notes", outside_content=True),
    GenericSelector("aside", "beside the content; within an article it may be a note", outside_content=True),
    GenericSelector('[role="navigation"]', "ARIA's word for ways through a site"),
    GenericSelector('[role="banner"]', "ARIA's word for a site's head", outside_content=True),
    GenericSelector('[role="contentinfo"]', "ARIA's word for a site's foot"),
    GenericSelector('[role="complementary"]', "ARIA's word for what stands beside content", outside_content=True),
    GenericSelector('[role="search"]', "ARIA's word for a search form"),
    GenericSelector('[role="menu"], [role="menubar"]', "ARIA's words for menus of commands"),
    # Ways through a site, by the names that independent designs share.
    GenericSelector(".breadcrumb, .breadcrumbs", "the way to this page"),
    GenericSelector("#breadcrumb, #breadcrumbs", "the way to this page"),
    GenericSelector('[itemtype$="schema.org/BreadcrumbList"]', "the way to this page, as schema.org marks it"),
    GenericSelector(".navbar", "the bar of a site's menu"),
    GenericSelector(".main-menu, .mega-menu, .tb-megamenu", "a site's menu"),
    GenericSelector(".pagination, .pager", "the way to more pages of a list"),
    GenericSelector(".skip-link, .skip-to-content", "a way past the menu, for readers of screens"),
    GenericSelector(".sidebar", "a column beside the content"),
    GenericSelector("#sidebar", "a column beside the content"),
    GenericSelector(".widget-area", "WordPress's place for boxes beside the content"),
    GenericSelector(".site-header, #masthead", "a site's head", outside_content=True),
    GenericSelector(".site-footer, #colophon", "a site's foot"),
    # Consent, by the tools that ask for it.
    GenericSelector(".cookie-banner, .cookie-notice, .cookie-consent", "asks for consent"),
    GenericSelector("#cookie-banner, #cookie-notice, #cookie-law-info-bar", "asks for consent"),
    GenericSelector("#onetrust-consent-sdk, #CybotCookiebotDialog, .cc-window", "asks for consent: widespread tools"),
    GenericSelector(".eu-cookie-compliance-banner, #sliding-popup", "asks for consent: Drupal's module"),
    # What sites want of their readers.
    GenericSelector(".social-share, .share-buttons, .addtoany_share_save_container", "sends the page to others"),
    GenericSelector(".social-links, .social-icons", "leads to the site's accounts elsewhere"),
    GenericSelector(".newsletter-signup, .newsletter-form", "asks for an address"),
    GenericSelector(".search-form, #search-form", "searches the site"),
    GenericSelector(".print-link, .back-to-top", "works the page itself"),
    # What other pages say.
    GenericSelector(".related-posts, .jp-relatedposts", "titles of other articles"),
    GenericSelector(".advertisement, .adsbygoogle", "another's words"),
    GenericSelector(".language-switcher, .lang-switcher", "the same page in other languages"),
)
