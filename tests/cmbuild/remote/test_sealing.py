"""An entry is used as it was sealed, for its address, by who has the key; or not at all."""

from __future__ import annotations

import pytest

from cmbuild.remote.sealing import EntryAddress, EntryRefused, seal, unseal

ADDRESS = EntryAddress("plan", "0123456789abcdef" * 2)
PAYLOAD = b"one\ntwo\n" * 3
KEY = b"secret"


@pytest.mark.parametrize("key", [None, KEY])
def test_the_payload_survives(key: bytes | None) -> None:
    assert unseal(ADDRESS, seal(ADDRESS, PAYLOAD, key), key) == PAYLOAD


def test_a_signed_entry_needs_no_key_to_be_read() -> None:
    assert unseal(ADDRESS, seal(ADDRESS, PAYLOAD, KEY), None) == PAYLOAD


@pytest.mark.parametrize("key", [None, KEY])
def test_every_flipped_bit_is_noticed(key: bytes | None) -> None:
    entry = seal(ADDRESS, PAYLOAD, key)
    for bit in range(8 * len(entry)):
        flipped = bytearray(entry)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(EntryRefused):
            unseal(ADDRESS, bytes(flipped), key)


def test_a_short_entry_is_refused() -> None:
    entry = seal(ADDRESS, PAYLOAD, KEY)
    for length in range(len(entry)):
        with pytest.raises(EntryRefused):
            unseal(ADDRESS, entry[:length], KEY)


def test_an_entry_is_for_its_address() -> None:
    entry = seal(ADDRESS, PAYLOAD, KEY)
    with pytest.raises(EntryRefused, match="something else"):
        unseal(EntryAddress("plan", "f" * 32), entry, KEY)


def test_with_a_key_only_its_owner_is_trusted() -> None:
    with pytest.raises(EntryRefused, match="not signed"):
        unseal(ADDRESS, seal(ADDRESS, PAYLOAD, None), KEY)
    with pytest.raises(EntryRefused, match="another key"):
        unseal(ADDRESS, seal(ADDRESS, PAYLOAD, b"other"), KEY)
