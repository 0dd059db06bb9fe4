"""The projects of a store."""

from typing import Any

from scrapy_dedup.service.projects import Deletion
from scrapy_dedup.store.stored import ProjectFigures


def project_answer(project: ProjectFigures) -> dict[str, Any]:
    """Return what is stored of a project."""
    return {
        "name": project.name,
        "pages": project.pages,
        "runs": project.runs,
        "stored_bytes": project.stored_bytes,
        "created_at": project.created_at.isoformat(),
    }


def deletion_answer(deletion: Deletion) -> dict[str, Any]:
    """Return what the removal of a project takes away."""
    rows = dict(deletion.rows)
    return {"project": deletion.project, "deleted": deletion.done, "rows": rows, "total": deletion.total}
