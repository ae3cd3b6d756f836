"""The bill of materials, by clauses of the SPDX Specification 2.3."""

from __future__ import annotations

import hashlib
import json
import re

from harness.commands import NETWORK, Commands


def test_the_bill_of_materials_covers_the_package(cmbuild: Commands) -> None:
    made = cmbuild("package", NETWORK, "--as", "source", "--name", "kws", "-o", "kws")
    assert made.exit_code == 0, made.stderr
    folder = cmbuild.folder / "kws"
    document = json.loads((folder / "kws.spdx.json").read_text())
    assert (document["spdxVersion"], document["dataLicense"]) == ("SPDX-2.3", "CC0-1.0")
    assert re.fullmatch(r"https://[^#]+", document["documentNamespace"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", document["creationInfo"]["created"])
    assert all(re.match("Tool: .+", creator) for creator in document["creationInfo"]["creators"])

    actual = {
        f"./{path.relative_to(folder).as_posix()}": path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in ("package.json", "kws.spdx.json")
    }
    listed = {entry["fileName"]: entry for entry in document["files"]}
    assert listed.keys() == actual.keys()
    for name, content in actual.items():
        sums = {each["algorithm"]: each["checksumValue"] for each in listed[name]["checksums"]}
        assert sums["SHA1"] == hashlib.sha1(content).hexdigest()
        assert sums["SHA256"] == hashlib.sha256(content).hexdigest()

    (package,) = document["packages"]
    identifiers = [document["SPDXID"], package["SPDXID"]]
    identifiers += [entry["SPDXID"] for entry in document["files"]]
    assert len(set(identifiers)) == len(identifiers)
    assert all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", each) for each in identifiers)
    sha1s = sorted(hashlib.sha1(content).hexdigest() for content in actual.values())
    code = package["packageVerificationCode"]["packageVerificationCodeValue"]
    assert code == hashlib.sha1("".join(sha1s).encode()).hexdigest()
    assert document["relationships"][0]["relatedSpdxElement"] == package["SPDXID"]
