"""ExecuTorch's runtime for an image: headers, libraries, registered kernels, pools."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict

# The c10 headers that come with the runtime, which its own headers include.
_C10 = Path("executorch", "runtime", "core", "portable_type", "c10")


class Pools(BaseModel):
    """Sizes of the memory that the runtime allocates from, in bytes.

    Attributes:
        method: for the loaded program.
        temporary: for kernels' allocations while they run.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    method: int
    temporary: int


@dataclass(frozen=True, slots=True)
class Runtime:
    """ExecuTorch's runtime, built for a core.

    Attributes:
        include: the folder with `executorch/runtime/…`: a checkout's parent.
        libraries: in any order.
        whole_libraries: linked as a whole, since they register kernels in static constructors.
        definitions: `NAME=VALUE`, as the libraries were compiled with.
    """

    include: Path
    libraries: tuple[Path, ...]
    whole_libraries: tuple[Path, ...] = ()
    definitions: tuple[str, ...] = ()

    def cmake(self, sources: tuple[Path, ...], pools: Pools | None) -> list[str]:
        """The variables of runtime/cmake/executorch.cmake.

        Args:
            sources: of the registration of a program's kernels.
            pools: None for the dry run, which measures them.
        """
        sizes = pools or Pools(method=0, temporary=0)
        values: dict[str, object] = {
            "CMRT_EXECUTOR": "executorch",
            "EXECUTORCH_INCLUDES": _list(self.include, self.include / _C10),
            "EXECUTORCH_DEFINITIONS": ";".join(self.definitions),
            "EXECUTORCH_LIBRARIES": _list(*self.libraries),
            "EXECUTORCH_WHOLE_LIBRARIES": _list(*self.whole_libraries),
            "EXECUTORCH_SOURCES": _list(*sources),
            "METHOD_POOL_BYTES": sizes.method,
            "TEMPORARY_POOL_BYTES": sizes.temporary,
        }
        return [f"-D{name}={value}" for name, value in values.items()]


def _list(*paths: Path) -> str:
    return ";".join(str(path.absolute()) for path in paths)
