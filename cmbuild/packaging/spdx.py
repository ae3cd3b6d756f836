"""A package's software bill of materials: SPDX 2.3 as JSON.

Source: the SPDX Specification 2.3, clauses 6 to 8 and 11.
"""

from __future__ import annotations

import hashlib
import json
import os
import uuid
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import PurePosixPath

from cmbuild.packaging.plain_text import LICENCE, is_licensed
from cmcompiler.plan.record import PlanRecord

_UNKNOWN = "NOASSERTION"
_OWNER = "Copyright (c) 2026, the cmbuild authors"
_TYPES = {".bin": "BINARY", ".json": "TEXT", "": "TEXT", ".txt": "TEXT", ".properties": "TEXT"}


def spdx_document(
    plan: PlanRecord, files: Mapping[str, bytes], version: str, excluded: tuple[str, ...]
) -> str:
    """The document of a package.

    The same files give the same text: it is dated by $SOURCE_DATE_EPOCH, or 1970.

    Args:
        files: all of its other files, by path.
        version: of cmbuild.
        excluded: files that it does not cover, itself among them.
    """
    entries = [_file(index, path, files[path]) for index, path in enumerate(sorted(files), 1)]
    identifier = uuid.uuid5(uuid.NAMESPACE_URL, _verification_code(files) + plan.identity)
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    created = datetime.fromtimestamp(epoch, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": plan.model,
        "documentNamespace": f"https://spdx.org/spdxdocs/{plan.model}-{identifier}",
        "creationInfo": {"created": created, "creators": [f"Tool: cmbuild-{version}"]},
        "packages": [
            {
                "SPDXID": "SPDXRef-Package",
                "name": plan.model,
                "versionInfo": plan.identity,
                "downloadLocation": _UNKNOWN,
                "filesAnalyzed": True,
                "packageVerificationCode": {
                    "packageVerificationCodeValue": _verification_code(files),
                    "packageVerificationCodeExcludedFiles": [f"./{name}" for name in excluded],
                },
                "licenseConcluded": _UNKNOWN,
                "licenseDeclared": _UNKNOWN,
                "licenseInfoFromFiles": [LICENCE, _UNKNOWN],
                "copyrightText": _UNKNOWN,
                "hasFiles": [entry["SPDXID"] for entry in entries],
            }
        ],
        "files": entries,
        "relationships": [
            {
                "spdxElementId": "SPDXRef-DOCUMENT",
                "relationshipType": "DESCRIBES",
                "relatedSpdxElement": "SPDXRef-Package",
            }
        ],
    }
    return json.dumps(document, indent=1) + "\n"


def _file(index: int, path: str, content: bytes) -> dict[str, object]:
    is_code = is_licensed(path) or path.endswith("LICENSE")
    suffix = PurePosixPath(path).suffix
    return {
        "SPDXID": f"SPDXRef-File-{index}",
        "fileName": f"./{path}",
        "fileTypes": [_TYPES.get(suffix, "SOURCE")],
        "checksums": [
            {"algorithm": "SHA1", "checksumValue": _sha1(content)},
            {"algorithm": "SHA256", "checksumValue": hashlib.sha256(content).hexdigest()},
        ],
        "licenseConcluded": LICENCE if is_code else _UNKNOWN,
        # Weights and vectors are the model's, whose licence its owner knows.
        "licenseInfoInFiles": [LICENCE if is_code else _UNKNOWN],
        "copyrightText": _OWNER if is_code else _UNKNOWN,
    }


def _sha1(content: bytes) -> str:
    """The checksum that the specification requires; nothing is trusted because of it."""
    return hashlib.sha1(content, usedforsecurity=False).hexdigest()


def _verification_code(files: Mapping[str, bytes]) -> str:
    """SHA-1 of the files' SHA-1s in ascending order: clause 7.9."""
    return _sha1("".join(sorted(map(_sha1, files.values()))).encode())
