from __future__ import annotations

import hashlib
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from cmcompiler.frontend import download
from cmcompiler.frontend.checkpoint import Checkpoint

CONTENT = b"weights" * 1000
NAME = f"net-{hashlib.sha256(CONTENT).hexdigest()[:8]}.pth"


@pytest.fixture
def server(monkeypatch, tmp_path):
    """Serves CONTENT as /whole/…, half of it as /half/…, nothing as /stalled/….

    Counts requests.
    """
    stop = threading.Event()
    served = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            served.append(self.path)
            if "/stalled/" in self.path:
                stop.wait(30)
            elif "/missing/" in self.path:
                self.send_error(404)
            else:
                self.send_response(200)
                self.end_headers()
                half = len(CONTENT) // 2
                self.wfile.write(CONTENT[:half])
                if "/slow/" in self.path:
                    stop.wait(30)
                elif "/whole/" in self.path:
                    self.wfile.write(CONTENT[half:])

        def log_message(self, *arguments):
            pass

    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    server.served = served
    server.checkpoint = lambda folder: Checkpoint(
        f"http://127.0.0.1:{server.server_port}/{folder}/{NAME}"
    )
    yield server
    stop.set()
    server.shutdown()
    server.server_close()


def left_over(published: Checkpoint) -> list[Path]:
    return list(published.path.parent.iterdir())


def test_a_download_is_kept_where_torch_hub_keeps_it(server):
    import torch

    published = server.checkpoint("whole")
    assert published.fetch() == Path(torch.hub.get_dir()) / "checkpoints" / NAME
    assert published.fetch().read_bytes() == CONTENT
    assert len(server.served) == 1
    assert left_over(published) == [published.path]


@pytest.mark.parametrize("folder", ["half", "missing"])
def test_nothing_is_kept_of_a_bad_download(server, folder):
    published = server.checkpoint(folder)
    with pytest.raises(OSError, match=NAME):
        published.fetch()
    assert left_over(published) == []


def test_a_server_that_does_not_answer_is_given_up(server, monkeypatch):
    monkeypatch.setattr(download, "_CONNECT_SECONDS", 0.2)
    with pytest.raises(OSError, match=f"{NAME}|timed out"):
        server.checkpoint("stalled").fetch()


def test_a_silent_server_is_asked_again_only_after_a_while(server, monkeypatch):
    monkeypatch.setattr(download, "_CONNECT_SECONDS", 0.2)
    monkeypatch.setattr(download, "_SLOW_SECONDS", 0.1)
    for _ in range(3):
        with pytest.raises(OSError, match=f"{NAME}|did not answer"):
            server.checkpoint("stalled").fetch()
    assert len(server.served) == 1
    with pytest.raises(OSError, match="did not answer"):
        server.checkpoint("whole").fetch()
    (note,) = left_over(server.checkpoint("whole"))
    os.utime(note, (0, 0))
    monkeypatch.setattr(download, "_CONNECT_SECONDS", 5.0)
    assert server.checkpoint("whole").fetch().read_bytes() == CONTENT


def test_nothing_is_remembered_of_a_server_that_answers(server, monkeypatch):
    monkeypatch.setattr(download, "_SLOW_SECONDS", 0.0)
    for _ in range(2):
        with pytest.raises(OSError, match="Not Found"):
            server.checkpoint("missing").fetch()
    assert len(server.served) == 2
    assert left_over(server.checkpoint("missing")) == []


def test_a_download_that_takes_too_long_is_given_up(server, monkeypatch):
    monkeypatch.setattr(download, "_DOWNLOAD_SECONDS", 0.2)
    with pytest.raises(TimeoutError, match="took more than"):
        server.checkpoint("slow").fetch()


def test_no_network_and_no_writable_folder_are_plain_os_errors(monkeypatch, tmp_path):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    with pytest.raises(OSError, match="Connection refused"):
        Checkpoint(f"http://127.0.0.1:9/{NAME}").fetch()
    (tmp_path / "file").touch()
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "file"))
    with pytest.raises(OSError, match="Not a directory"):
        Checkpoint(f"http://127.0.0.1:9/{NAME}").fetch()


def test_the_default_folder_follows_torch(monkeypatch, tmp_path):
    import torch

    for variables in ({}, {"XDG_CACHE_HOME": str(tmp_path)}, {"TORCH_HOME": str(tmp_path / "t")}):
        for name in ("XDG_CACHE_HOME", "TORCH_HOME"):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        assert Checkpoint(f"http://x/{NAME}").path.parents[1] == Path(torch.hub.get_dir())
