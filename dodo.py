"""The task graph for plain doit: `doit list`; `doit model=mv2 board=corstone300`."""

from cmbuild.tasks.config import CONFIG as DOIT_CONFIG
from cmbuild.tasks.dodo import task_cmbuild

__all__ = ["DOIT_CONFIG", "task_cmbuild"]
