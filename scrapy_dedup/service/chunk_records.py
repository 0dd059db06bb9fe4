"""What becomes of a page's chunks, as it is written down."""

from typing import Final

from scrapy_dedup.core.kept_chunks import StoredChunk
from scrapy_dedup.service.chunking import JudgedChunk, PageChunks
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.page_records import ChunksRecord

# What a line of a list shows.
_SAMPLE_CHARS: Final = 80


def chunks_record(page_key: bytes, chunks: PageChunks, settings: Settings) -> ChunksRecord:
    """Return a page's chunks as they are stored."""
    return ChunksRecord(page_key, tuple(_stored(one) for one in chunks.chunks), settings.chunk_min_documents)


def _stored(one: JudgedChunk) -> StoredChunk:
    chunk = one.chunk
    return StoredChunk(
        position=chunk.position,
        chunk_id=chunk.id,
        content_hash=one.key,
        state=one.state,
        kind=chunk.kind.value,
        chars=len(chunk.text),
        size=chunk.size,
        sample=chunk.text[:_SAMPLE_CHARS],
        language=one.language,
        layer=one.layer,
        reason=one.reason,
        holder=one.holder,
    )
