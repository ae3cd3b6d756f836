"""`labgrid:PLACE` and `labgrid:KEY=VALUE`."""

from __future__ import annotations

import pytest

from cmbuild.hardware.rack.address import BadAddress, RackAddress


def test_a_place() -> None:
    address = RackAddress.parse("labgrid:pico-1")
    assert (address.place, address.tags, str(address)) == ("pico-1", (), "labgrid:pico-1")


def test_tags() -> None:
    address = RackAddress.parse("labgrid:board=rp2350,room=b2")
    assert address.place is None
    assert str(address) == "labgrid:board=rp2350,room=b2"
    assert address.title == "a place with board=rp2350,room=b2"
    assert address.fits("pico-1", {"board": "rp2350", "room": "b2", "probe": "E66"})
    assert not address.fits("pico-1", {"board": "rp2350", "room": "b3"})
    assert not address.fits("pico-1", {"board": "rp2350"})


def test_a_name_is_a_tag() -> None:
    address = RackAddress.parse("labgrid:name=pico-1")
    assert address.fits("pico-1", {}) and not address.fits("pico-2", {"name": "pico-1"})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("labgrid:", "a place's name"),
        ("labgrid:a b", "a place's name"),
        ("labgrid:=rp2350", "'' is not the key of a tag"),
        ("labgrid:Board=rp2350", "'Board' is not the key of a tag"),
        ("labgrid:board=", "the value of board"),
        ("labgrid:board=a,", "'' is not the key of a tag"),
        ("labgrid:board=a,board=b", "board is given twice"),
    ],
)
def test_bad_addresses(text: str, problem: str) -> None:
    with pytest.raises(BadAddress) as caught:
        RackAddress.parse(text)
    assert problem in caught.value.message
