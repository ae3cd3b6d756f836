"""The task graph for plain doit: `doit list`; `doit model=mv2 board=corstone300`."""

from cmbuild.cli.plain_doit import task_cmbuild
from cmbuild.tasks.config import CONFIG as DOIT_CONFIG

__all__ = ["DOIT_CONFIG", "task_cmbuild"]
