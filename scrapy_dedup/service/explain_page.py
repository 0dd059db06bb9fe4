"""An explanation as a page that can be drawn, and as lines for a person."""

from datetime import datetime

from scrapy_dedup.report.explained_values import (
    ExplainedBlock,
    ExplainedChunk,
    ExplainedDecision,
    ExplainedLike,
    ExplainedPage,
)
from scrapy_dedup.report.numbers import percent, whole
from scrapy_dedup.service.explain import Explanation
from scrapy_dedup.service.explain_blocks import JudgedBlock, told


def page_of(found: Explanation, at: datetime) -> ExplainedPage:
    """Return what is drawn of an explanation."""
    document, source = found.document, found.source
    like = found.like
    return ExplainedPage(
        project=found.project,
        url=found.keys.url,
        title=(document.title if document else None) or "",
        generated_at=at,
        facts=tuple(facts_of(found)),
        like=ExplainedLike(like.url, like.layer or "", like.jaccard) if like else None,
        decisions=tuple(ExplainedDecision(one.layer, one.action, one.reason) for one in found.decisions),
        blocks=tuple(map(_block, found.blocks.blocks)),
        lost=tuple(map(_block, found.blocks.lost)),
        cleaned=source.cleaned_content if source else None,
        chunks=chunks_of(found),
    )


def chunks_of(found: Explanation) -> tuple[ExplainedChunk, ...]:
    """Return the chunks, each with the URL of the page that gives it in its place."""
    return tuple(
        ExplainedChunk(
            position=one.position,
            id=one.chunk_id,
            state=one.state,
            kind=one.kind,
            chars=one.chars,
            sample=one.sample,
            language=one.language or "",
            layer=one.layer or "",
            reason=one.reason or "",
            holder=found.holders.get(one.holder, one.holder.hex()) if one.holder else "",
        )
        for one in found.chunks
    )


def facts_of(found: Explanation) -> list[tuple[str, str]]:
    """Return (name, text) of what is known of a URL beside its blocks."""
    keys, document = found.keys, found.document
    lines = [("project", found.project), ("domain", keys.domain), ("page key", keys.page_key.hex())]
    if keys.normal_url != keys.url:
        lines.append(("normal form", keys.normal_url))
    lines += _crawl(found)
    if found.stands_for:
        lines.append(("stands for", found.stands_for))
    if found.like is not None:
        lines.append(("like" if found.like.layer is None else "dropped for", like_line(found)))
    lines += [("alias", f"{alias.url} ({alias.alias_kind or alias.status})") for alias in found.aliases]
    if document is not None:
        lines += [("title", document.title)] if document.title else []
        lines += [("canonical", document.canonical_url)] if document.canonical_url else []
        lines.append(("document", document.status + (f": {document.error}" if document.error else "")))
        if document.chars_in is not None and document.chars_out is not None:
            removed = percent(document.chars_in - document.chars_out, document.chars_in)
            lines.append(("text", f"{whole(document.chars_in)} characters, {removed} of them removed"))
    if found.chunks:
        out = sum(one.layer is None for one in found.chunks)
        lines.append(("chunks", f"{whole(len(found.chunks))}, {whole(len(found.chunks) - out)} of them left out"))
    if found.is_known and (found.source is None or found.source.content is None):
        lines.append(("original", "not kept"))
    return lines


def like_line(found: Explanation) -> str:
    """Return which page the text is like, and how much; "" where there is none."""
    like = found.like
    if like is None:
        return ""
    share = "the same text" if like.jaccard >= 1 else f"Jaccard {like.jaccard:.3f}"
    return f"{like.url} ({like.layer or 'marked as a near-duplicate'}: {share})"


def _crawl(found: Explanation) -> list[tuple[str, str]]:
    crawled = found.crawled
    if crawled is None:
        return []
    kind = f" ({crawled.alias_kind})" if crawled.alias_kind else ""
    status = f", status {crawled.http_status}" if crawled.http_status else ""
    spider = f", by spider {found.run.spider}" if found.run else ""
    at = f"{crawled.last_crawled_at:%Y-%m-%d %H:%M} UTC"
    return [("last crawl", f"{at}: {crawled.status}{kind}{status}{spider}")]


def _block(block: JudgedBlock) -> ExplainedBlock:
    if block.removal is None:
        return ExplainedBlock(block.text)
    one = told(block)
    return ExplainedBlock(
        one.text, one.layer, one.rule, one.rule_path, one.evidence, one.fingerprint, is_part=block.is_part
    )
