"""Of what all answers are made: values as JSON has them, each with an example for the schema."""

from datetime import datetime
from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, WithJsonSchema

from scrapy_dedup.core.pages.fingerprints import to_digits

_SHARE_DIGITS = 6


def _hex(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value


def _digits(value: Any) -> Any:
    return to_digits(value) if isinstance(value, int) else value


def _number(value: Any) -> Any:
    return value if isinstance(value, int) else len(value)


Count = Annotated[int, Field(ge=0, examples=[12])]
NumberOf = Annotated[int, BeforeValidator(_number), Field(ge=0, examples=[12])]
Chars = Annotated[int, Field(ge=0, examples=[48_210])]
Size = Annotated[int | None, Field(examples=[4_821])]
Share = Annotated[float, AfterValidator(lambda share: round(share, _SHARE_DIGITS)), Field(ge=0, le=1, examples=[0.42])]
Seconds = Annotated[float, Field(ge=0, examples=[12.5])]
Instant = Annotated[
    datetime,
    # With +00:00, as everywhere else; pydantic would write Z.
    PlainSerializer(datetime.isoformat, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time", "examples": ["2026-03-01T12:00:00+00:00"]}),
]
Url = Annotated[str, Field(examples=["https://example.org/tea"])]
MaybeUrl = Annotated[str | None, Field(examples=["https://example.org/tea"])]
Domain = Annotated[str, Field(examples=["example.org"])]
Digits = Annotated[str, BeforeValidator(_digits), Field(pattern="^[0-9a-f]{16}$", examples=["9f1c2ab0d4e57768"])]
Key = Annotated[
    str, BeforeValidator(_hex), Field(pattern="^[0-9a-f]{32}$", examples=["5a3b1f0c9d8e7766554433221100ffee"])
]
Hash = Annotated[str | None, BeforeValidator(_hex), Field(examples=["ab12"])]
Id = Annotated[UUID, Field(examples=["4f6c9a52-7a57-4a0c-a3f1-9d2b7e6c1a10"])]
MaybeId = Annotated[UUID | None, Field(examples=["4f6c9a52-7a57-4a0c-a3f1-9d2b7e6c1a10"])]
Project = Annotated[str, Field(examples=["shop"])]
Cursor = Annotated[str | None, Field(description="Where the list goes on; null at its end.", examples=[None])]
Version = Annotated[int, Field(ge=0, examples=[3])]
Switch = Annotated[bool, Field(examples=[False])]
Reason = Annotated[str | None, Field(examples=["it fits 12 of 12 pages"])]
Verdict = Annotated[str | None, Field(examples=["changed"])]
Title = Annotated[str | None, Field(examples=["Tea"])]
Status = Annotated[str, Field(examples=["completed"])]


class Answer(BaseModel):
    """What has these members and no others; made of a value whose attributes are named alike."""

    model_config = ConfigDict(extra="forbid", from_attributes=True, validate_by_name=True, validate_by_alias=True)

    @classmethod
    def of(cls, *found: object, **more: object) -> Self:
        """Return what values say, each member from the first that has it; what is named goes before them all."""
        if len(found) == 1 and not more:
            return cls.model_validate(found[0])
        names = [name for name in cls.model_fields if name not in more]
        said = {name: getattr(one, name) for one in reversed(found) for name in names if hasattr(one, name)}
        return cls.model_validate(said | more)


class OfProject(Answer):
    """An answer about one project."""

    project: Project


class OfWrite(OfProject):
    """What was changed in a project; in a dry run, what would be."""

    dry_run: Switch
