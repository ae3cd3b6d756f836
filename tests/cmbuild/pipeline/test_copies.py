"""--hot"""

from __future__ import annotations

from cmbuild.pipeline.copies import Copying
from cmbuild.pipeline.options import compose
from cmbuild.pipeline.request import BuildRequest


def test_constants_are_copied_unless_that_is_switched_off() -> None:
    assert Copying().is_wanted
    request = compose(BuildRequest, model="mlp", board="nucleo-l4r5zi", hot="off")
    assert not request.copying.is_wanted
