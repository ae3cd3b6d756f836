"""Entries of a shared cache: bytes that say what they are, and who made them."""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import dataclass

_MAGIC = b"cmbuild entry 1\n"
_DIGEST_BYTES = 32


class EntryRefused(Exception):
    """An entry that must not be used; the text says why."""


@dataclass(frozen=True, slots=True)
class EntryAddress:
    """The identity of an entry: a stage's kind, and the fingerprint of all that it depends on."""

    kind: str
    fingerprint: str

    @property
    def path(self) -> str:
        """Below the root of the cache; few entries a folder."""
        return f"{self.kind}/{self.fingerprint[:2]}/{self.fingerprint}"


def seal(address: EntryAddress, payload: bytes, key: bytes | None) -> bytes:
    """The entry for an address, signed if there is a key."""
    digest = hashlib.sha256(payload).hexdigest()
    header = {
        "kind": address.kind,
        "fingerprint": address.fingerprint,
        "digest": digest,
        "signature": None if key is None else _signature(address, digest, key),
    }
    body = _MAGIC + json.dumps(header).encode() + b"\n" + payload
    return body + hashlib.sha256(body).digest()


def unseal(address: EntryAddress, entry: bytes, key: bytes | None) -> bytes:
    """The payload of an entry.

    Raises:
        EntryRefused: any bit differs from what `seal` wrote, it is for another address, or there
            is a key and it is not signed with it.
    """
    body, trailer = entry[:-_DIGEST_BYTES], entry[-_DIGEST_BYTES:]
    if not body.startswith(_MAGIC) or hashlib.sha256(body).digest() != trailer:
        raise EntryRefused("it is damaged")
    line, _, payload = body[len(_MAGIC) :].partition(b"\n")
    try:
        header = json.loads(line)
        sealed = EntryAddress(header["kind"], header["fingerprint"])
        digest, signature = header["digest"], header["signature"]
    except (ValueError, KeyError, TypeError):
        raise EntryRefused("it is damaged") from None
    if sealed != address or digest != hashlib.sha256(payload).hexdigest():
        raise EntryRefused("it holds something else")
    if key is not None:
        if not isinstance(signature, str):
            raise EntryRefused("it is not signed")
        if not hmac.compare_digest(signature.encode(), _signature(address, digest, key).encode()):
            raise EntryRefused("it is signed with another key")
    return payload


def _signature(address: EntryAddress, digest: str, key: bytes) -> str:
    """Covers the address too, so that an entry is not taken for another one's."""
    text = f"{address.kind}\0{address.fingerprint}\0{digest}"
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
