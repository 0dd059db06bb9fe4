"""What was known of a domain, told to a crawl that has met it already."""

from scrapy_dedup.service.crawl.crawl import Crawl, Stored
from scrapy_dedup.service.learning.learning import Learner, knowledge_of
from scrapy_dedup.service.templates.site_records import site_of


def recall_late(crawl: Crawl, domain: str, stored: Stored) -> None:
    """Let what is stored hold from now on; what this crawl learned from as many pages stays."""
    if crawl.configs.get(domain) is None:
        crawl.configs[domain] = stored.config
    for (name, _), learner in crawl.learners.items():
        if name == domain:
            _recall(learner, stored)


def _recall(learner: Learner, stored: Stored) -> None:
    known = stored.boilerplate.get(learner.method)
    if known is not None and known.pages_analyzed > learner.boilerplate.pages:
        learner.recall(knowledge_of(known))
    site = learner.site
    knowledge = site_of(learner.domain, stored.templates) if site is not None else None
    if site is None or knowledge is None:
        return
    if site.knowledge is None or site.knowledge.pages < knowledge.pages:
        site.recall(knowledge)
