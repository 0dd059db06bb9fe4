"""All tables."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "20261124"
down_revision = None

ID = sa.Uuid().with_variant(sa.BLOB(), "sqlite")
KEY = sa.LargeBinary(16)
# SQLite counts rows by itself only in an INTEGER key.
ROW = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True)
# Sorted by code points on PostgreSQL, too.
NAME = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def of_rows(condition: str) -> dict[str, Any]:
    """Let an index have only the rows that fulfil a condition."""
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}


def upgrade() -> None:
    op.create_table(
        "near_duplicates",
        sa.Column("band", sa.BigInteger(), nullable=False, autoincrement=False),
        sa.Column("page", sa.BigInteger(), nullable=False, autoincrement=False),
        sa.PrimaryKeyConstraint("band", "page", name="pk_near_duplicates"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "projects",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("stored_bytes", sa.BigInteger(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_projects"),
        sa.UniqueConstraint("name", name="uq_projects_name"),
    )
    op.create_table(
        "candidates",
        sa.Column("id", ROW, nullable=False),
        sa.Column("project_id", ID, nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("engine", sa.Text(), nullable=False),
        sa.Column("session_id", ID, nullable=False),
        sa.Column("domain_name", NAME, nullable=False),
        sa.Column("outcome", sa.String(16), nullable=False),
        sa.Column("title", sa.Text()),
        sa.Column("confidence", sa.Float()),
        sa.Column("rank", sa.Integer()),
        sa.Column("created_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_candidates_project_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_candidates"),
    )
    op.create_index("ix_candidates_domain_name", "candidates", ["project_id", "domain_name", "id"])
    op.create_index("ix_candidates_session_id", "candidates", ["project_id", "session_id", "id"])
    op.create_table(
        "claims",
        sa.Column("run_id", ID, nullable=False),
        sa.Column("kind", sa.SmallInteger(), nullable=False, autoincrement=False),
        sa.Column("key", KEY, nullable=False),
        sa.Column("project_id", ID, nullable=False),
        sa.Column("worker_id", ID, nullable=False),
        sa.Column("owner", KEY, nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_claims_project_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "kind", "key", name="pk_claims"),
    )
    op.create_index("ix_claims_project", "claims", ["project_id"])
    op.create_table(
        "crawl_runs",
        sa.Column("id", ID, nullable=False),
        sa.Column("project_id", ID, nullable=False),
        sa.Column("spider", sa.Text(), nullable=False),
        sa.Column("jobdir", sa.Text()),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("reason", sa.Text()),
        sa.Column("started_at", TIME, nullable=False),
        sa.Column("finished_at", TIME),
        sa.Column("stats", sa.JSON(), nullable=False),
        sa.Column("missed_counted_at", TIME),
        sa.Column("seen_at", TIME),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_crawl_runs_project_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_crawl_runs"),
    )
    op.create_index("ix_crawl_runs_project_id_started_at", "crawl_runs", ["project_id", "started_at"])
    op.create_table(
        "crawled_urls",
        sa.Column("project_id", ID, nullable=False),
        sa.Column("page_key", KEY, nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("http_status", sa.Integer()),
        sa.Column("last_crawled_at", TIME, nullable=False),
        sa.Column("run_id", ID),
        sa.Column("document_key", KEY),
        sa.Column("alias_kind", sa.String(16)),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_crawled_urls_project_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("project_id", "page_key", name="pk_crawled_urls"),
    )
    op.create_index(
        "ix_crawled_urls_project_id_document_key",
        "crawled_urls",
        ["project_id", "document_key"],
        **of_rows("document_key <> page_key"),
    )
    op.create_table(
        "decisions",
        sa.Column("project_id", ID, nullable=False),
        sa.Column("page_key", KEY, nullable=False),
        sa.Column("layer", sa.String(32), nullable=False),
        sa.Column("run_id", ID),
        sa.Column("action", sa.String(32), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("detail", sa.LargeBinary()),
        sa.Column("decided_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_decisions_project_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("project_id", "page_key", "layer", name="pk_decisions"),
    )
    op.create_index("ix_decisions_oldest", "decisions", ["project_id", "decided_at", "page_key", "layer"])
    op.create_table(
        "discovery_session",
        sa.Column("session_id", ID, nullable=False),
        sa.Column("project_id", ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("started_at", TIME, nullable=False),
        sa.Column("finished_at", TIME),
        sa.Column("counts", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name="fk_discovery_session_project_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("session_id", name="pk_discovery_session"),
    )
    op.create_index("ix_discovery_session_project_id_started_at", "discovery_session", ["project_id", "started_at"])
    op.create_table(
        "document_chunks",
        sa.Column("project_id", ID, nullable=False),
        sa.Column("page_key", KEY, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("chunk_id", sa.String(16), nullable=False),
        sa.Column("content_hash", KEY, nullable=False),
        sa.Column("state", sa.String(8), nullable=False),
        sa.Column("holder", KEY),
        sa.Column("layer", sa.String(16)),
        sa.Column("reason", sa.Text()),
        sa.Column("kind", sa.String(8), nullable=False),
        sa.Column("language", sa.String(16)),
        sa.Column("chars", sa.Integer(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("sample", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name="fk_document_chunks_project_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("project_id", "page_key", "position", name="pk_document_chunks"),
    )
    op.create_index(
        "ix_document_chunks_content", "document_chunks", ["content_hash", "project_id", "state", "page_key"]
    )
    op.create_table(
        "documents",
        sa.Column("project_id", ID, nullable=False),
        sa.Column("page_key", KEY, nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("run_id", ID),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("verdict", sa.String(16)),
        sa.Column("title", sa.Text()),
        sa.Column("canonical_url", sa.Text()),
        sa.Column("content_hash", sa.LargeBinary()),
        sa.Column("cleaned_hash", KEY),
        sa.Column("chars_in", sa.Integer()),
        sa.Column("chars_out", sa.Integer()),
        sa.Column("sketch", sa.LargeBinary()),
        sa.Column("error", sa.Text()),
        sa.Column("updated_at", TIME, nullable=False),
        sa.Column("etag", sa.Text()),
        sa.Column("last_modified", sa.Text()),
        sa.Column("validated_at", TIME),
        sa.Column("first_seen_at", TIME),
        sa.Column("last_seen_at", TIME),
        sa.Column("last_changed_at", TIME),
        sa.Column("blocks", sa.LargeBinary()),
        sa.Column("links_hash", KEY),
        sa.Column("interval_seconds", sa.Float()),
        sa.Column("visits_count", sa.Integer(), nullable=False),
        sa.Column("changes_count", sa.Integer(), nullable=False),
        sa.Column("missed_runs", sa.Integer(), nullable=False),
        sa.Column("gone_at", TIME),
        sa.Column("lastmod", TIME),
        sa.Column("moved", sa.LargeBinary()),
        sa.Column("depth", sa.Integer()),
        sa.Column("stale", sa.Text()),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_documents_project_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("project_id", "page_key", name="pk_documents"),
    )
    op.create_index("ix_documents_domain_newest", "documents", ["project_id", "domain", "updated_at", "page_key"])
    op.create_index("ix_documents_newest", "documents", ["project_id", "updated_at", "page_key"])
    op.create_index("ix_documents_run_id_updated_at_page_key", "documents", ["run_id", "updated_at", "page_key"])
    op.create_index("ix_documents_stale", "documents", ["project_id", "page_key"], **of_rows("stale IS NOT NULL"))
    op.create_table(
        "domain",
        sa.Column("domain_id", ID, nullable=False),
        sa.Column("project_id", ID, nullable=False),
        sa.Column("domain_name", NAME, nullable=False),
        sa.Column("status", sa.String(32), nullable=False),
        sa.Column("status_before", sa.String(32)),
        sa.Column("discovery_session_id", ID),
        sa.Column("high_quality_candidate_count", sa.Integer(), nullable=False),
        sa.Column("low_quality_candidate_count", sa.Integer(), nullable=False),
        sa.Column("best_confidence_score", sa.Float()),
        sa.Column("mean_confidence_score", sa.Float()),
        sa.Column("pages", sa.Integer(), nullable=False),
        sa.Column("chars_in", sa.BigInteger(), nullable=False),
        sa.Column("chars_out", sa.BigInteger(), nullable=False),
        sa.Column("boilerplate_share", sa.Float(), nullable=False),
        sa.Column("errors", sa.Integer(), nullable=False),
        sa.Column("last_crawled_at", TIME),
        sa.Column("blacklisted_at", TIME),
        sa.Column("blacklisted_by", sa.Text()),
        sa.Column("blacklist_reason", sa.Text()),
        sa.Column("blacklist_expires_at", TIME),
        sa.Column("twin", sa.Text()),
        sa.Column("joined_to", sa.Text()),
        sa.Column("pages_alike", sa.Integer(), nullable=False),
        sa.Column("pages_unlike", sa.Integer(), nullable=False),
        sa.Column("discovered_at", TIME, nullable=False),
        sa.Column("last_processed_at", TIME),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_domain_project_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("domain_id", name="pk_domain"),
        sa.UniqueConstraint("project_id", "domain_name", name="uq_domain_project_id_domain_name"),
    )
    op.create_index("ix_domain_best_confidence_score", "domain", ["project_id", "best_confidence_score", "domain_name"])
    op.create_index("ix_domain_boilerplate_share", "domain", ["project_id", "boilerplate_share", "domain_name"])
    op.create_index("ix_domain_last_crawled_at", "domain", ["project_id", "last_crawled_at", "domain_name"])
    op.create_index("ix_domain_pages", "domain", ["project_id", "pages", "domain_name"])
    op.create_index("ix_domain_status", "domain", ["project_id", "status", "domain_name"])
    op.create_index("ix_domain_twins", "domain", ["project_id", "joined_to"], **of_rows("twin IS NOT NULL"))
    op.create_table(
        "domain_boilerplate",
        sa.Column("id", ID, nullable=False),
        sa.Column("project_id", ID, nullable=False),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("method", sa.String(16), nullable=False),
        sa.Column("boilerplate_hashes", sa.JSON(), nullable=False),
        sa.Column("evidence", sa.LargeBinary()),
        sa.Column("pages_analyzed", sa.Integer(), nullable=False),
        sa.Column("blocks_total", sa.Integer(), nullable=False),
        sa.Column("blocks_boilerplate", sa.Integer(), nullable=False),
        sa.Column("bytes_removed_avg", sa.Integer(), nullable=False),
        sa.Column("threshold_pct", sa.Float(), nullable=False),
        sa.Column("min_pages", sa.Integer(), nullable=False),
        sa.Column("min_block_chars", sa.Integer(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name="fk_domain_boilerplate_project_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_domain_boilerplate"),
        sa.UniqueConstraint("project_id", "domain", "method", name="uq_domain_boilerplate_project_id_domain_method"),
    )
    op.create_table(
        "domain_validators",
        sa.Column("project_id", ID, nullable=False),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("sent", sa.BigInteger(), nullable=False),
        sa.Column("not_modified", sa.BigInteger(), nullable=False),
        sa.Column("useless", sa.BigInteger(), nullable=False),
        sa.Column("changed_304", sa.BigInteger(), nullable=False),
        sa.Column("lastmod_right", sa.BigInteger(), nullable=False),
        sa.Column("lastmod_wrong", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name="fk_domain_validators_project_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("project_id", "domain", name="pk_domain_validators"),
    )
    op.create_table(
        "extractions",
        sa.Column("project_id", ID, nullable=False),
        sa.Column("memo_key", KEY, nullable=False),
        sa.Column("page_key", KEY, nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("content_hash", sa.LargeBinary(), nullable=False),
        sa.Column("callback", sa.Text(), nullable=False),
        sa.Column("dedup_version", sa.Text()),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("cb_kwargs", sa.LargeBinary()),
        sa.Column("requests", sa.LargeBinary(), nullable=False),
        sa.Column("items", sa.LargeBinary()),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_extractions_project_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("project_id", "memo_key", name="pk_extractions"),
    )
    op.create_index(
        "ix_extractions_project_id_page_key_memo_key", "extractions", ["project_id", "page_key", "memo_key"]
    )
    op.create_table(
        "layout_alarms",
        sa.Column("project_id", ID, nullable=False),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("layout", sa.BigInteger(), nullable=False, autoincrement=False),
        sa.Column("raised_at", TIME, nullable=False),
        sa.Column("cause", sa.Text(), nullable=False),
        sa.Column("pages_failed", sa.Integer(), nullable=False),
        sa.Column("pages_looked", sa.Integer(), nullable=False),
        sa.Column("first_failed_at", TIME, nullable=False),
        sa.Column("cleared_at", TIME),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name="fk_layout_alarms_project_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("project_id", "domain", "layout", "raised_at", name="pk_layout_alarms"),
    )
    op.create_index(
        "ix_layout_alarms_open",
        "layout_alarms",
        ["project_id", "domain", "layout"],
        unique=True,
        **of_rows("cleared_at IS NULL"),
    )
    op.create_table(
        "layout_pictures",
        sa.Column("project_id", ID, nullable=False),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("layout", sa.BigInteger(), nullable=False, autoincrement=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("made_at", TIME, nullable=False),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("height", sa.Integer(), nullable=False),
        sa.Column("boxes", sa.JSON(), nullable=False),
        sa.Column("picture", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name="fk_layout_pictures_project_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("project_id", "domain", "layout", name="pk_layout_pictures"),
    )
    op.create_table(
        "layout_runs",
        sa.Column("project_id", ID, nullable=False),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("layout", sa.BigInteger(), nullable=False, autoincrement=False),
        sa.Column("run_id", ID, nullable=False),
        sa.Column("pages", sa.BigInteger(), nullable=False),
        sa.Column("first_url", sa.Text(), nullable=False),
        sa.Column("counted_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_layout_runs_project_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("project_id", "domain", "layout", "run_id", name="pk_layout_runs"),
    )
    op.create_table(
        "layout_signatures",
        sa.Column("project_id", ID, nullable=False),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("level", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("signature_hash", sa.BigInteger(), nullable=False, autoincrement=False),
        sa.Column("template_id", sa.BigInteger()),
        sa.Column("seen_count", sa.BigInteger(), nullable=False),
        sa.Column("first_seen_at", TIME, nullable=False),
        sa.Column("last_seen_at", TIME, nullable=False),
        sa.Column("algorithm_version", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name="fk_layout_signatures_project_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("project_id", "domain", "level", "signature_hash", name="pk_layout_signatures"),
    )
    op.create_table(
        "layout_templates",
        sa.Column("id", ROW, nullable=False),
        sa.Column("project_id", ID, nullable=False),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("layout", sa.BigInteger(), nullable=False),
        sa.Column("structure", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("url_pattern", sa.Text()),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=False),
        sa.Column("pages", sa.Integer(), nullable=False),
        sa.Column("source", sa.String(16), nullable=False),
        sa.Column("algorithm_version", sa.Integer(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("state_at", TIME, nullable=False),
        sa.Column("selectors", sa.JSON(), nullable=False),
        sa.Column("overrides", sa.JSON(), nullable=False),
        sa.Column("paths", sa.LargeBinary(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name="fk_layout_templates_project_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_layout_templates"),
        sa.UniqueConstraint(
            "project_id", "domain", "layout", "version", name="uq_layout_templates_project_id_domain_layout_version"
        ),
    )
    op.create_index(
        "ix_layout_templates_live",
        "layout_templates",
        ["project_id", "domain", "layout"],
        unique=True,
        **of_rows("state = 'live'"),
    )
    op.create_table(
        "page_signatures",
        sa.Column("id", ROW, nullable=False),
        sa.Column("project_id", ID, nullable=False),
        sa.Column("page_key", KEY, nullable=False),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("title_key", KEY),
        sa.Column("text_hash", KEY, nullable=False),
        sa.Column("language", sa.String(16), nullable=False),
        sa.Column("version", sa.String(32), nullable=False),
        sa.Column("shingles", sa.Integer(), nullable=False),
        sa.Column("layer", sa.String(16)),
        sa.Column("keeper", KEY),
        sa.Column("jaccard", sa.Float()),
        sa.Column("signature", sa.LargeBinary(), nullable=False),
        sa.Column("bands", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name="fk_page_signatures_project_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_page_signatures"),
        sa.UniqueConstraint("project_id", "page_key", name="uq_page_signatures_project_id_page_key"),
    )
    op.create_index("ix_page_signatures_text", "page_signatures", ["project_id", "text_hash"])
    op.create_index(
        "ix_page_signatures_title",
        "page_signatures",
        ["project_id", "domain", "title_key"],
        **of_rows("title_key IS NOT NULL"),
    )
    op.create_table(
        "run_workers",
        sa.Column("id", ID, nullable=False),
        sa.Column("project_id", ID, nullable=False),
        sa.Column("run_id", ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("reason", sa.Text()),
        sa.Column("started_at", TIME, nullable=False),
        sa.Column("lease_until", TIME, nullable=False),
        sa.Column("finished_at", TIME),
        sa.Column("stats", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_run_workers_project_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_run_workers"),
    )
    op.create_index("ix_run_workers_run", "run_workers", ["project_id", "run_id"])
    op.create_table(
        "seen_scopes",
        sa.Column("id", ROW, nullable=False),
        sa.Column("project_id", ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("begun_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_seen_scopes_project_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_seen_scopes"),
        sa.UniqueConstraint("project_id", "name", name="uq_seen_scopes_project_id_name"),
    )
    op.create_table(
        "site_config",
        sa.Column("project_id", ID, nullable=False),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("config", sa.JSON(), nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_site_config_project_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("project_id", "domain", name="pk_site_config"),
    )
    op.create_table(
        "source_versions",
        sa.Column("project_id", ID, nullable=False),
        sa.Column("page_key", KEY, nullable=False),
        sa.Column("fetched_at", TIME, nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("content_bytes", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name="fk_source_versions_project_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("project_id", "page_key", "fetched_at", name="pk_source_versions"),
    )
    op.create_index("ix_source_versions_oldest", "source_versions", ["project_id", "fetched_at", "page_key"])
    op.create_table(
        "sources",
        sa.Column("id", ROW, nullable=False),
        sa.Column("project_id", ID, nullable=False),
        sa.Column("page_key", KEY, nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("source_group", sa.Text()),
        sa.Column("field", sa.String(16), nullable=False),
        sa.Column("content", sa.LargeBinary()),
        sa.Column("content_bytes", sa.Integer(), nullable=False),
        sa.Column("cleaned_content", sa.Text()),
        sa.Column("cleaned_bytes", sa.Integer(), nullable=False),
        sa.Column("title", sa.Text()),
        sa.Column("content_type", sa.Text()),
        sa.Column("fetched_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_sources_project_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_sources"),
        sa.UniqueConstraint("project_id", "page_key", name="uq_sources_project_id_page_key"),
    )
    op.create_index("ix_sources_domain_by_key", "sources", ["project_id", "domain", "page_key"])
    op.create_index("ix_sources_domain_oldest", "sources", ["project_id", "domain", "fetched_at", "page_key"])
    op.create_index(
        "ix_sources_oldest", "sources", ["project_id", "fetched_at", "page_key"], **of_rows("content IS NOT NULL")
    )
    op.create_table(
        "url_parameters",
        sa.Column("project_id", ID, nullable=False),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("same", sa.Integer(), nullable=False),
        sa.Column("different", sa.Integer(), nullable=False),
        sa.Column("ignored", sa.Boolean(), nullable=False),
        sa.Column("seen_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name="fk_url_parameters_project_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("project_id", "domain", "name", name="pk_url_parameters"),
    )
    op.create_table(
        "visits",
        sa.Column("id", ROW, nullable=False),
        sa.Column("project_id", ID, nullable=False),
        sa.Column("run_id", ID, nullable=False),
        sa.Column("page_key", KEY, nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("http_status", sa.Integer()),
        sa.Column("verdict", sa.String(16)),
        sa.Column("change_class", sa.String(32)),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("bytes_received", sa.BigInteger(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("callback_run", sa.Boolean(), nullable=False),
        sa.Column("fetched", sa.String(16), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_visits_project_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_visits"),
        sa.UniqueConstraint("project_id", "run_id", "at", "page_key", name="uq_visits_project_id_run_id_at_page_key"),
    )
    op.create_index("ix_visits_oldest", "visits", ["project_id", "at", "id", "verdict"])
    op.create_table(
        "seen_urls",
        sa.Column("scope_id", ROW, nullable=False),
        sa.Column("fingerprint", KEY, nullable=False),
        sa.ForeignKeyConstraint(["scope_id"], ["seen_scopes.id"], name="fk_seen_urls_scope_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("scope_id", "fingerprint", name="pk_seen_urls"),
        sqlite_with_rowid=False,
    )
