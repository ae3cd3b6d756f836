"""JSON Schemas of what `--json` prints, made from the documents themselves."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Any

from pydantic import TypeAdapter

from cmbuild.report.actions import (
    CleanDocument,
    CompletionDocument,
    DebugDocument,
    MonitorDocument,
    NewDocument,
    SchemaDocument,
    WorkerDocument,
)
from cmbuild.report.bench import BenchDocument
from cmbuild.report.boards import BoardDetailDocument, BoardsDocument
from cmbuild.report.build import BuildDocument
from cmbuild.report.check import CheckDocument
from cmbuild.report.chips import ChipsDocument
from cmbuild.report.compare import CompareDocument
from cmbuild.report.conformance import ConformanceDocument
from cmbuild.report.doctor import DoctorDocument
from cmbuild.report.documents import Document, ErrorDocument
from cmbuild.report.eval import EvalDocument
from cmbuild.report.explain import ExplainDocument
from cmbuild.report.export import ExportDocument
from cmbuild.report.fit import FitsDocument
from cmbuild.report.flash import FlashDocument
from cmbuild.report.init import InitDocument
from cmbuild.report.mix import MixDocument
from cmbuild.report.models import ModelsDocument
from cmbuild.report.package import PackageDocument
from cmbuild.report.run_document import RunDocument
from cmbuild.report.west import WestDocument

DOCUMENTS: Mapping[str, tuple[type[Document], ...]] = {
    "bench": (BenchDocument,),
    "boards": (BoardsDocument, BoardDetailDocument),
    "build": (BuildDocument, MixDocument),
    "check": (CheckDocument,),
    "chips": (ChipsDocument,),
    "clean": (CleanDocument,),
    "compare": (CompareDocument,),
    "completion": (CompletionDocument,),
    "conformance": (ConformanceDocument,),
    "debug": (DebugDocument, MixDocument),
    "doctor": (DoctorDocument,),
    "eval": (EvalDocument,),
    "explain": (ExplainDocument, MixDocument),
    "export": (ExportDocument,),
    "fit": (FitsDocument,),
    "flash": (FlashDocument, MixDocument),
    "init": (InitDocument,),
    "models": (ModelsDocument,),
    "monitor": (MonitorDocument,),
    "new": (NewDocument,),
    "package": (PackageDocument,),
    "run": (RunDocument, MixDocument),
    "schema": (SchemaDocument,),
    "worker": (WorkerDocument,),
    "zephyr": (WestDocument,),
}
"""Documents by verb, for a command with results; any other prints an ErrorDocument."""

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema(verb: str) -> dict[str, Any]:
    """The JSON Schema of one object that a verb prints: its results, its error, or both."""
    documents = DOCUMENTS[verb]
    # pydantic makes a schema of a type; mypy does not take a computed one.
    union: Any = reduce(or_, (*documents, ErrorDocument))
    schema = TypeAdapter(union).json_schema(mode="serialization")
    definitions = schema["$defs"]
    failure = definitions[ErrorDocument.__name__]["properties"]
    for document in documents:
        definitions[document.__name__]["properties"] |= failure
    return {"$schema": DIALECT, "title": f"cmbuild {verb} --json", **schema}
