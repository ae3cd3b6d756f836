from __future__ import annotations

from pathlib import Path

from cmbuild.cache.fingerprint import digest, fingerprint


def test_parts_count_with_their_names_types_and_grouping() -> None:
    prints = [
        fingerprint(a=1),
        fingerprint(b=1),
        fingerprint(a="1"),
        fingerprint(a=None),
        fingerprint(a=["x", "y"]),
        fingerprint(a=["xy"]),
        fingerprint(a={"x": 1}),
        fingerprint(a=1, b=1),
    ]
    assert len(set(prints)) == len(prints)
    assert fingerprint(a=1, b=2) == fingerprint(b=2, a=1)


def test_path_counts_with_its_content_only(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text("same")
    second.write_text("same")
    assert fingerprint(a=first) == fingerprint(a=second)
    second.write_text("other")
    assert fingerprint(a=first) != fingerprint(a=second)
    assert fingerprint(a=tmp_path / "none") == fingerprint(a=tmp_path / "neither")


def test_folder_counts_with_names_and_contents_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    source = tmp_path / "sub" / "a.c"
    source.write_text("int a;")
    before = digest(tmp_path)
    (tmp_path / "sub" / "__pycache__").mkdir()
    (tmp_path / "sub" / "__pycache__" / "a.pyc").write_text("noise")
    (tmp_path / ".a.c.swp").write_text("noise")
    assert digest(tmp_path) == before
    source.write_text("int b;")
    changed = digest(tmp_path)
    source.rename(tmp_path / "sub" / "b.c")
    assert len({before, changed, digest(tmp_path)}) == 3
