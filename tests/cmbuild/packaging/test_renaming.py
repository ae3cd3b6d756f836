"""C text under the names of a package."""

from __future__ import annotations

from cmbuild.packaging.renaming import renamed, with_prototypes


def test_names_of_the_runtime_get_the_models() -> None:
    text = '#ifdef CMRT_X_H\nvoid cm_add(int CM_SLACK);\n__asm("cm_mve_f:\\n" "bl cm_g");'
    assert renamed(text, "kws") == (
        "#ifdef KWS_CMRT_X_H\nvoid kws_cm_add(int KWS_CM_SLACK);\n"
        '__asm("kws_cm_mve_f:\\n" "bl kws_cm_g");'
    )


def test_other_names_stay() -> None:
    text = "acm_1 = xCM_2 + cm + CM + 3 * arm_cm_4;"
    assert renamed(text, "kws") == text


def test_kernels_are_declared_before_they_are_defined() -> None:
    head, body = '#include "a.h"\n#include <b.h>\n', "\nvoid cm_add(const struct cm_context *c,\n"
    rest = "            const struct cm_call *call)\n{\n}\n"
    assert with_prototypes(head + body + rest) == f"{head}\ncm_kernel cm_add;\n{body}{rest}"
    assert with_prototypes(head) == head
