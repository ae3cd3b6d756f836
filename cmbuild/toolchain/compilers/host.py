"""This computer's own compiler."""

from cmbuild.toolchain.kind import ToolchainKind
from cmbuild.toolchain.tools import Tool

HOST_CC = Tool("cc", ("gcc", "libc6-dev"), "board native")

TOOLCHAIN = ToolchainKind(HOST_CC, builds_executorch=True)
