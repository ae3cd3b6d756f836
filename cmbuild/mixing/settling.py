"""A request in which the precision of every module is settled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmbuild.pipeline.request import BuildRequest

if TYPE_CHECKING:
    from cmbuild.mixing.choice import Perform
    from cmbuild.pipeline.pipeline import Pipeline


def settled(request: BuildRequest, pipeline: Pipeline, perform: Perform) -> BuildRequest:
    """The request with the precision that its needs choose; itself if it has none.

    Raises:
        NeedsNotMet: no mix is within them.
        UsageError: needs that do not go with other options.
        CmbuildError, CompilerError: the model cannot be exported or planned.
    """
    if not request.needs.options:
        return request
    from cmbuild.mixing.choice import Chooser

    return Chooser(pipeline, request, perform).choose()
