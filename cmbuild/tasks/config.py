"""How doit works for cmbuild."""

from __future__ import annotations

from typing import Any

from cmbuild.tasks.events import ProcessEvents

CONFIG: dict[str, Any] = {
    "default_tasks": ["simulate"],
    "reporter": ProcessEvents,
    "par_type": "thread",
    "sort": "definition",
    # Stamps say whether a task is up to date; doit's own memory of it is not used.
    "backend": "sqlite3",
    "dep_file": ":memory:",
}
