"""The JSON documents that `--json` prints: one object per command, on standard output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Any, ClassVar, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, create_model

from cmbuild.display.fields import SCREEN_ONLY
from cmbuild.errors import CmbuildError
from cmbuild.pipeline.events import StepOutcome


class Document(BaseModel):
    """Takes its fields from a dictionary or from an object's attributes; refuses unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, from_attributes=True)

    verbs: ClassVar[tuple[str, ...]] = ()
    """The commands that print it; none for the parts of other documents."""


class ErrorDocument(Document):
    """A failed command: the content of standard error, for programs."""

    error: str
    hint: str | None
    exit_code: int

    @classmethod
    def of(cls, error: CmbuildError) -> ErrorDocument:
        return cls(error=error.message, hint=error.hint, exit_code=int(error.exit_code))


class StepDocument(Document):
    """A step of the work; `state` is cached, done, fetched, failed or skipped."""

    name: str
    subject: str
    state: str
    seconds: float

    @classmethod
    def of(cls, outcome: StepOutcome) -> StepDocument:
        return cls(
            name=outcome.step.kind,
            subject=outcome.text,
            state=outcome.state.value,
            seconds=round(outcome.seconds, 3),
        )


D = TypeVar("D", bound="ResultDocument")


class ResultDocument(Document):
    """The results of a command, and the steps that led to them."""

    @classmethod
    def of(cls: type[D], result: object, steps: Sequence[StepOutcome], **others: object) -> D:
        """
        Args:
            result: has the fields of the document as attributes.
            others: the remaining fields.
        """
        same = {name: getattr(result, name) for name in cls.model_fields if hasattr(result, name)}
        return cls(**same | {"steps": tuple(map(StepDocument.of, steps))} | others)


@cache
def document_like(result: type) -> type[Document]:
    """The document with the description and the fields of a dataclass."""
    hints = get_type_hints(result)
    definitions: dict[str, Any] = {each.name: (hints[each.name], ...) for each in fields(result)}
    return create_model(
        _document_name(result), __base__=Document, __doc__=result.__doc__, **definitions
    )


def document_of(
    result: type,
    *verbs: str,
    text: str = "",
    types: Sequence[type] = (),
    **instead: Mapping[str, Any],
) -> type[ResultDocument]:
    """The document of verbs: the fields of their result, and the steps, before artifacts.

    Args:
        result: a dataclass; fields with metadata SCREEN_ONLY are left out.
        text: the document's description.
        types: in the fields' types, which the module of the result imports for type checkers alone.
        instead: by a field's name, what the document has in its place: types of keys.
    """
    hints = get_type_hints(result, localns={each.__name__: each for each in types})
    keys: dict[str, Any] = {}
    for each in fields(result):
        if not each.metadata.get(SCREEN_ONLY):
            keys |= instead.get(each.name, {each.name: hints[each.name]})
    last = {"artifacts": keys.pop("artifacts")} if "artifacts" in keys else {}
    keys |= {"steps": tuple[StepDocument, ...], **last}
    definitions: dict[str, Any] = {key: (kind, ...) for key, kind in keys.items()}
    made = create_model(
        _document_name(result), __base__=ResultDocument, __doc__=text or None, **definitions
    )
    made.verbs = verbs
    return made


def _document_name(result: type) -> str:
    return f"{result.__name__.removesuffix('Result')}Document"
