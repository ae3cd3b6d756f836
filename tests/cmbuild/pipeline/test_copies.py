"""--hot"""

from __future__ import annotations

from cmbuild.pipeline.copies import Copying
from cmbuild.pipeline.options import compose
from cmbuild.pipeline.request import BuildRequest


def test_code_and_constants_are_copied_unless_that_is_switched_off() -> None:
    assert Copying().of_code and Copying().of_constants
    for hot, of_code in (("off", False), ("code", True)):
        request = compose(BuildRequest, model="mlp", board="nucleo-l4r5zi", hot=hot)
        assert request.copying.of_code == of_code
        assert not request.copying.of_constants
