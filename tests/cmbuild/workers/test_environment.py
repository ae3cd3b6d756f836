"""Workers with other versions are refused by name."""

from __future__ import annotations

import pytest

from cmbuild.workers.environment import OtherEnvironment, check, environment

HERE = {"executorch": "1.5.1", "numpy": "2.4.0"}


def test_the_same_environment_passes() -> None:
    check("tcp://a:1", dict(HERE), HERE)
    actual = environment()
    assert {"cmbuild", "python", "numpy", "cmbuild's files"} <= actual.keys()
    check("tcp://a:1", environment(), actual)


@pytest.mark.parametrize(
    ("there", "words"),
    [
        ({**HERE, "executorch": "1.5.0"}, "executorch is 1.5.0 there, 1.5.1 here"),
        ({"numpy": "2.4.0"}, "executorch is missing there, 1.5.1 here"),
        ({**HERE, "torch": "2.15.0"}, "torch is 2.15.0 there, missing here"),
    ],
)
def test_another_one_is_refused_by_name(there: dict[str, str], words: str) -> None:
    with pytest.raises(OtherEnvironment) as raised:
        check("tcp://a:1", there, HERE)
    assert raised.value.message == f"worker tcp://a:1: {words}"
