"""A cache in a folder that machines share: filled by one, used by the next, never trusted."""

from __future__ import annotations

import io
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from harness.commands import NETWORK, Commands, Result

from cmbuild.errors import Missing, UsageError
from cmbuild.pipeline.context import WorkContext
from cmbuild.pipeline.options import compose
from cmbuild.pipeline.performing import perform
from cmbuild.pipeline.pipeline import Pipeline
from cmbuild.pipeline.request import RunRequest
from cmbuild.pipeline.stages.stage import Stage
from cmbuild.process import Processes
from cmbuild.remote.sealing import EntryAddress, seal, unseal
from cmbuild.remote.storage import RemoteCache, connect

ADDRESS = EntryAddress("plan", "ab" * 16)
RUN = ("run", NETWORK, "--board", "native", "--json")
SHARED = {"plan", "reference"}


@pytest.fixture
def share(tmp_path: Path) -> Path:
    return tmp_path / "share"


def machine(cmbuild: Commands, share: Path, name: str, **variables: str) -> Commands:
    """One with a cache of its own, which holds nothing but a library."""
    folder = cmbuild.folder.parent / name
    folder.mkdir(exist_ok=True)
    if (cmbuild.cache / "libraries").is_dir() and not (folder / "cache").exists():
        shutil.copytree(cmbuild.cache / "libraries", folder / "cache" / "libraries")
    environment = {"CMBUILD_REMOTE_CACHE": share.as_uri(), **variables}
    return replace(cmbuild, folder=folder, cache=folder / "cache", environment=environment)


def fetched(result: Result) -> set[str]:
    assert result.exit_code == 0, result.stderr
    return {name for name, state in result.states.items() if state == "fetched"}


@pytest.fixture
def cmbuild(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Commands:
    commands = Commands.in_folder_of(tmp_path, tmp_path_factory)
    assert commands("build", *RUN[1:]).exit_code == 0
    return commands


def test_what_one_machine_made_another_uses(cmbuild: Commands, share: Path) -> None:
    first = machine(cmbuild, share, "first")(*RUN)
    assert fetched(first) == set()
    reader = machine(cmbuild, share, "reader")
    second = reader("--remote-cache", "read", *RUN)
    assert fetched(second) == SHARED
    assert second.document["verified"]
    assert second.document["memory"] == first.document["memory"]
    assert fetched(reader(*RUN)) == set(), "now its own"
    off = machine(cmbuild, share, "off", CMBUILD_REMOTE_CACHE_MODE="off")
    assert fetched(off("build", *RUN[1:])) == set()


def test_libraries_too(cmbuild: Commands, share: Path) -> None:
    for name, collected in (("first", set()), ("second", {*SHARED, "libs"})):
        bare = machine(replace(cmbuild, cache=share), share, name)
        assert fetched(bare(*RUN)) == collected


def test_results_of_before_are_shared_too(cmbuild: Commands, share: Path) -> None:
    first = machine(cmbuild, share, "first")
    alone = first("--remote-cache", "off", *RUN)
    assert alone.exit_code == 0 and not share.exists()
    assert first("--remote-cache", "read", *RUN).exit_code == 0 and not share.exists()
    again = first(*RUN)
    assert (again.states["plan"], again.states["reference"]) == ("cached", "cached")
    assert fetched(machine(cmbuild, share, "second")(*RUN)) == SHARED


def test_only_what_is_not_there_is_lacking(tmp_path: Path) -> None:
    (tmp_path / "entry").mkdir()
    (tmp_path / "entry" / "file").write_text("first")
    share = (tmp_path / "share").as_uri()
    remote = RemoteCache(share, print)
    assert remote.lacks(ADDRESS) and not RemoteCache(share, print, writes=False).lacks(ADDRESS)
    remote.store(ADDRESS, tmp_path / "entry")
    assert not remote.lacks(ADDRESS)


def test_a_reader_writes_nothing(cmbuild: Commands, share: Path) -> None:
    machine(cmbuild, share, "reader")("--remote-cache", "read", *RUN)
    assert not share.exists()


def test_an_entry_with_a_flipped_bit_is_refused_and_replaced(
    cmbuild: Commands, share: Path
) -> None:
    machine(cmbuild, share, "first")(*RUN)
    entries = [path for path in share.rglob("*") if path.is_file()]
    whole = {path: path.read_bytes() for path in entries}
    assert {path.relative_to(share).parts[0] for path in entries} == {*SHARED, "libs"}
    for path, content in whole.items():
        middle = len(content) // 2
        path.write_bytes(content[:middle] + bytes([content[middle] ^ 4]) + content[middle + 1 :])
    second = machine(cmbuild, share, "second")(*RUN)
    assert fetched(second) == set()
    assert second.stderr.count("it is damaged; made again") == 2
    third = machine(cmbuild, share, "third")(*RUN)
    assert fetched(third) == SHARED


def archive(*files: tuple[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files:
            packed.writestr(name, content)
    return buffer.getvalue()


def corrupt(payload: bytes) -> bytes:
    start = 30 + int.from_bytes(payload[26:28], "little")
    return payload[:start] + b"\xff" * 8 + payload[start + 8 :]


def without(payload: bytes, **changed: bytes | None) -> bytes:
    """The files of a payload, some with other content, or left out."""
    with zipfile.ZipFile(io.BytesIO(payload)) as packed:
        files = {name: packed.read(name) for name in packed.namelist()}
    for stem, content in changed.items():
        name = next(name for name in files if name.partition(".")[0] == stem)
        files[name] = b"" if content is None else content
        if content is None:
            del files[name]
    return archive(*files.items())


SENSELESS: dict[str, dict[str, Callable[[bytes], bytes]]] = {
    "plan": {
        "garbage": lambda payload: b"garbage",
        "empty": lambda payload: archive(),
        "corrupt": corrupt,
        "file and folder": lambda payload: archive(("a", b""), ("a/b", b"")),
        "long name": lambda payload: archive(("x" * 400, b"")),
        "folder as plan": lambda payload: archive(("plan.json/x", b"")),
        "no plan": lambda payload: without(payload, plan=None),
        "empty plan": lambda payload: without(payload, plan=b"{}"),
        "nested plan": lambda payload: without(payload, plan=b"[" * 100_000),
        "no weights": lambda payload: without(payload, weights=None),
        "other weights": lambda payload: without(payload, weights=b"1234"),
        "other code": lambda payload: without(payload, model=b"int x;"),
    },
    "reference": {
        "empty": lambda payload: archive(),
        "no arrays": lambda payload: without(payload, outputs=b"PK"),
        "other arrays": lambda payload: without(payload, outputs=arrays(np.zeros((2, 3)))),
    },
}


def arrays(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, output_0=array)
    return buffer.getvalue()


def test_a_sealed_entry_without_sense_is_refused_and_replaced(
    cmbuild: Commands, share: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CMBUILD_CACHE", str(cmbuild.cache))
    notes: list[str] = []
    remote = RemoteCache(share.as_uri(), notes.append)

    def stages(name: str) -> dict[str, Stage]:
        request = compose(RunRequest, model=str(NETWORK), board="native", build_dir=tmp_path / name)
        reference = (
            Pipeline(WorkContext(Processes(), tmp_path / "logs")).simulate(request).reference
        )
        reference._folder = tmp_path / name / "references"
        return {"plan": reference.plan, "reference": reference}

    def performed(name: str) -> list[str]:
        actual = stages(name)
        return [k for k in actual if perform(actual[k], lambda: None, notes.append, remote)]

    assert performed("first") == []
    entries = {path.relative_to(share).parts[0]: path for path in share_files(share)}
    whole = {kind: path.read_bytes() for kind, path in entries.items()}
    for kind, cases in SENSELESS.items():
        address = EntryAddress(kind, entries[kind].name)
        for case, change in cases.items():
            payload = change(unseal(address, whole[kind], None))
            entries[kind].write_bytes(seal(address, payload, None))
            notes.clear()
            assert performed(f"{kind} {case}") == [other for other in SENSELESS if other != kind]
            (note,) = notes
            assert note.startswith(f"refused {kind}/") and note.endswith("; made again"), case
            assert entries[kind].read_bytes() == whole[kind], case
    assert performed("last") == list(SENSELESS)


def test_with_a_key_entries_are_signed(cmbuild: Commands, share: Path) -> None:
    machine(cmbuild, share, "anybody")(*RUN)
    owner = machine(cmbuild, share, "owner", CMBUILD_REMOTE_CACHE_KEY="secret")(*RUN)
    assert fetched(owner) == set()
    assert owner.stderr.count("it is not signed; made again") == 2
    friend = machine(cmbuild, share, "friend", CMBUILD_REMOTE_CACHE_KEY="secret")(*RUN)
    assert fetched(friend) == SHARED


def test_a_cache_that_cannot_be_reached_is_one_line(cmbuild: Commands) -> None:
    lost = machine(cmbuild, Path("/proc/nowhere"), "lost")("build", *RUN[1:])
    assert lost.exit_code == 0, lost.stderr
    lines = [line for line in lost.stderr.splitlines() if "remote cache" in line]
    assert len(lines) == 1 and "continuing without it" in lines[0]


def test_settings_are_checked() -> None:
    assert connect(None, print, {}) is None
    assert connect("off", print, {"CMBUILD_REMOTE_CACHE": "file:///x"}) is None
    assert connect("read", print, {"CMBUILD_REMOTE_CACHE": "file:///x"}) is not None
    with pytest.raises(UsageError, match="not a URL"):
        connect(None, print, {"CMBUILD_REMOTE_CACHE": "/x"})
    with pytest.raises(UsageError, match="not one of read, write, off"):
        connect(None, print, {"CMBUILD_REMOTE_CACHE_MODE": "all"})


def test_an_unknown_scheme_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nope"):
        RemoteCache("nope://x", print).holds(ADDRESS)


@pytest.mark.parametrize(
    ("url", "reason", "message", "hint"),
    [
        (
            "http://host/cache",
            'HTTPFileSystem requires "requests" and "aiohttp" to be installed',
            "the cache at http://host/cache needs Python packages that are not installed: "
            'HTTPFileSystem requires "requests" and "aiohttp" to be installed',
            None,
        ),
        (
            "s3://bucket",
            "Install s3fs to access S3",
            "the Python package s3fs is not installed; the cache at s3://bucket needs it",
            "pip install",
        ),
    ],
)
def test_packages_that_are_lacking_are_named(
    url: str, reason: str, message: str, hint: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacking(*words: object, **options: object) -> None:
        raise ImportError(reason)

    monkeypatch.setattr("fsspec.core.url_to_fs", lacking)
    with pytest.raises(Missing) as raised:
        RemoteCache(url, print).holds(ADDRESS)
    assert raised.value.message == message
    assert (hint or "") in (raised.value.hint or "")


def test_a_cache_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    notes: list[str] = []
    cache = RemoteCache("http://127.0.0.1:1/cache", notes.append)
    cache._put = lambda place, entry: (_ for _ in ()).throw(NotImplementedError)  # type: ignore[method-assign]
    cache.store(ADDRESS, tmp_path)
    assert notes == [
        "remote cache http://127.0.0.1:1/cache: it cannot be written; continuing without it"
    ]


def test_an_entry_is_there_once_stored(tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "file").write_text("content")
    cache = RemoteCache((tmp_path / "share").as_uri(), print)
    assert not cache.holds(ADDRESS) and not cache.fetch(ADDRESS, tmp_path / "to")
    cache.store(ADDRESS, tmp_path / "made")
    assert cache.holds(ADDRESS) and cache.fetch(ADDRESS, tmp_path / "to")
    assert (tmp_path / "to" / "file").read_text() == "content"
    assert [path.name for path in share_files(tmp_path / "share")] == [ADDRESS.fingerprint]


def share_files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]
