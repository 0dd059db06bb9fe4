"""What an explanation of one page says: plain values, drawn by this folder."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class ExplainedBlock:
    """A block of the page; all but its text is "" where it was kept.

    Attributes:
        layer: that removed it.
        rule: by its name.
        where: the rule's path, selector or expression; "" where each block is judged by itself.
        evidence: why, in words.
        fingerprint: 16 hexadecimal digits.
        is_part: it is a part of the block before, which stayed.
    """

    text: str
    layer: str = ""
    rule: str = ""
    where: str = ""
    evidence: str = ""
    fingerprint: str = ""
    is_part: bool = False

    @property
    def kept(self) -> bool:
        """Whether it went out."""
        return not self.layer


@dataclass(frozen=True, slots=True)
class ExplainedChunk:
    """A chunk of the clean text.

    Attributes:
        id: by which it is known in the item.
        state: added, kept, due or removed.
        chars: of its text.
        sample: how that begins.
        language: that was detected; "" for none.
        layer: that left it out; "" where it goes out.
        reason: why; "" where there is nothing to say.
        holder: URL of the page that gives it; "" for none.
    """

    position: int
    id: str
    state: str
    kind: str
    chars: int
    sample: str
    language: str = ""
    layer: str = ""
    reason: str = ""
    holder: str = ""


@dataclass(frozen=True, slots=True)
class ExplainedLike:
    """Another page that has the text, or nearly.

    Attributes:
        url: of that page.
        layer: that dropped this one for it; "" where this one went out and is marked.
        jaccard: how alike they are, 0.0 to 1.0.
    """

    url: str
    layer: str
    jaccard: float


@dataclass(frozen=True, slots=True)
class ExplainedDecision:
    """What a layer decided."""

    layer: str
    action: str
    reason: str


@dataclass(frozen=True, slots=True)
class ExplainedPage:
    """One page, with all that was decided about it.

    Attributes:
        facts: (name, text) of what else is known.
        cleaned: the text that went out; None where there is none.
        blocks: in the order of the page; none where its original is not kept.
        lost: removed blocks that the stored original does not have.
    """

    project: str
    url: str
    title: str
    generated_at: datetime
    facts: tuple[tuple[str, str], ...] = ()
    like: ExplainedLike | None = None
    decisions: tuple[ExplainedDecision, ...] = ()
    blocks: tuple[ExplainedBlock, ...] = ()
    lost: tuple[ExplainedBlock, ...] = ()
    cleaned: str | None = None
    chunks: tuple[ExplainedChunk, ...] = ()
