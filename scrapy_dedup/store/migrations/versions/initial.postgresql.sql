CREATE TABLE near_duplicates (
    band BIGINT NOT NULL,
    page BIGINT NOT NULL,
    CONSTRAINT pk_near_duplicates PRIMARY KEY (band, page)
);

CREATE TABLE projects (
    id UUID NOT NULL,
    name TEXT NOT NULL,
    stored_bytes BIGINT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_projects PRIMARY KEY (id),
    CONSTRAINT uq_projects_name UNIQUE (name)
);

CREATE TABLE candidates (
    id BIGSERIAL NOT NULL,
    project_id UUID NOT NULL,
    url TEXT NOT NULL,
    engine TEXT NOT NULL,
    session_id UUID NOT NULL,
    domain_name TEXT COLLATE "C" NOT NULL,
    outcome VARCHAR(16) NOT NULL,
    title TEXT,
    confidence FLOAT,
    rank INTEGER,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_candidates PRIMARY KEY (id),
    CONSTRAINT fk_candidates_project_id FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
);

CREATE INDEX ix_candidates_domain_name ON candidates (project_id, domain_name, id);

CREATE INDEX ix_candidates_session_id ON candidates (project_id, session_id, id);

CREATE TABLE claims (
    run_id UUID NOT NULL,
    kind SMALLINT NOT NULL,
    key BYTEA NOT NULL,
    project_id UUID NOT NULL,
    worker_id UUID NOT NULL,
    owner BYTEA NOT NULL,
    shown BYTEA,
    is_out BOOLEAN NOT NULL,
    CONSTRAINT pk_claims PRIMARY KEY (run_id, kind, key),
    CONSTRAINT fk_claims_project_id FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
);

CREATE INDEX ix_claims_project ON claims (project_id);

CREATE TABLE crawl_runs (
    id UUID NOT NULL,
    project_id UUID NOT NULL,
    spider TEXT NOT NULL,
    jobdir TEXT,
    status VARCHAR(16) NOT NULL,
    reason TEXT,
    started_at TIMESTAMP WITH TIME ZONE NOT NULL,
    finished_at TIMESTAMP WITH TIME ZONE,
    stats JSON NOT NULL,
    missed_counted_at TIMESTAMP WITH TIME ZONE,
    seen_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_crawl_runs PRIMARY KEY (id),
    CONSTRAINT fk_crawl_runs_project_id FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
);

CREATE INDEX ix_crawl_runs_project_id_started_at ON crawl_runs (project_id, started_at);

CREATE TABLE crawled_urls (
    project_id UUID NOT NULL,
    page_key BYTEA NOT NULL,
    url TEXT NOT NULL,
    domain TEXT NOT NULL,
    status VARCHAR(16) NOT NULL,
    http_status INTEGER,
    last_crawled_at TIMESTAMP WITH TIME ZONE NOT NULL,
    run_id UUID,
    document_key BYTEA,
    alias_kind VARCHAR(16),
    CONSTRAINT pk_crawled_urls PRIMARY KEY (project_id, page_key),
    CONSTRAINT fk_crawled_urls_project_id FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
);

CREATE INDEX ix_crawled_urls_project_id_document_key ON crawled_urls (project_id, document_key) WHERE document_key <> page_key;

CREATE TABLE decisions (
    project_id UUID NOT NULL,
    page_key BYTEA NOT NULL,
    layer VARCHAR(32) NOT NULL,
    run_id UUID,
    action VARCHAR(32) NOT NULL,
    reason TEXT NOT NULL,
    detail BYTEA,
    decided_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_decisions PRIMARY KEY (project_id, page_key, layer),
    CONSTRAINT fk_decisions_project_id FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
);

CREATE INDEX ix_decisions_oldest ON decisions (project_id, decided_at, page_key, layer);

CREATE TABLE deliveries (
    project_id UUID NOT NULL,
    page_key BYTEA NOT NULL,
    giver BYTEA NOT NULL,
    domain TEXT NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    items BYTEA NOT NULL,
    fields BYTEA NOT NULL,
    left_out BYTEA NOT NULL,
    CONSTRAINT pk_deliveries PRIMARY KEY (project_id, page_key, giver),
    CONSTRAINT fk_deliveries_project_id FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
);

CREATE TABLE discovery_session (
    session_id UUID NOT NULL,
    project_id UUID NOT NULL,
    name TEXT NOT NULL,
    started_at TIMESTAMP WITH TIME ZONE NOT NULL,
    finished_at TIMESTAMP WITH TIME ZONE,
    counts JSON NOT NULL,
    CONSTRAINT pk_discovery_session PRIMARY KEY (session_id),
    CONSTRAINT fk_discovery_session_project_id FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
);

CREATE INDEX ix_discovery_session_project_id_started_at ON discovery_session (project_id, started_at);

CREATE TABLE document_chunks (
    project_id UUID NOT NULL,
    page_key BYTEA NOT NULL,
    position INTEGER NOT NULL,
    chunk_id VARCHAR(16) NOT NULL,
    content_hash BYTEA NOT NULL,
    state VARCHAR(8) NOT NULL,
    holder BYTEA,
    layer VARCHAR(16),
    reason TEXT,
    kind VARCHAR(8) NOT NULL,
    language VARCHAR(16),
    chars INTEGER NOT NULL,
    size INTEGER NOT NULL,
    sample TEXT NOT NULL,
    CONSTRAINT pk_document_chunks PRIMARY KEY (project_id, page_key, position),
    CONSTRAINT fk_document_chunks_project_id FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
);

CREATE INDEX ix_document_chunks_content ON document_chunks (content_hash, project_id, state, page_key);

CREATE TABLE documents (
    project_id UUID NOT NULL,
    page_key BYTEA NOT NULL,
    url TEXT NOT NULL,
    domain TEXT NOT NULL,
    run_id UUID,
    status VARCHAR(16) NOT NULL,
    verdict VARCHAR(16),
    title TEXT,
    canonical_url TEXT,
    content_hash BYTEA,
    cleaned_hash BYTEA,
    chars_in INTEGER,
    chars_out INTEGER,
    error TEXT,
    updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
    etag TEXT,
    last_modified TEXT,
    validated_at TIMESTAMP WITH TIME ZONE,
    first_seen_at TIMESTAMP WITH TIME ZONE,
    last_seen_at TIMESTAMP WITH TIME ZONE,
    last_changed_at TIMESTAMP WITH TIME ZONE,
    blocks BYTEA,
    body_hash BYTEA,
    interval_seconds FLOAT,
    visits_count INTEGER NOT NULL,
    changes_count INTEGER NOT NULL,
    missed_runs INTEGER NOT NULL,
    gone_at TIMESTAMP WITH TIME ZONE,
    lastmod TIMESTAMP WITH TIME ZONE,
    depth INTEGER,
    parent_key BYTEA,
    stale TEXT,
    CONSTRAINT pk_documents PRIMARY KEY (project_id, page_key),
    CONSTRAINT fk_documents_project_id FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
);

CREATE INDEX ix_documents_domain_newest ON documents (project_id, domain, updated_at, page_key);

CREATE INDEX ix_documents_newest ON documents (project_id, updated_at, page_key);

CREATE INDEX ix_documents_run_id_updated_at_page_key ON documents (run_id, updated_at, page_key);

CREATE TABLE domain (
    domain_id UUID NOT NULL,
    project_id UUID NOT NULL,
    domain_name TEXT COLLATE "C" NOT NULL,
    status VARCHAR(32) NOT NULL,
    status_before VARCHAR(32),
    discovery_session_id UUID,
    high_quality_candidate_count INTEGER NOT NULL,
    low_quality_candidate_count INTEGER NOT NULL,
    best_confidence_score FLOAT,
    mean_confidence_score FLOAT,
    pages INTEGER NOT NULL,
    chars_in BIGINT NOT NULL,
    chars_out BIGINT NOT NULL,
    boilerplate_share FLOAT NOT NULL,
    errors INTEGER NOT NULL,
    last_crawled_at TIMESTAMP WITH TIME ZONE,
    blacklisted_at TIMESTAMP WITH TIME ZONE,
    blacklisted_by TEXT,
    blacklist_reason TEXT,
    blacklist_expires_at TIMESTAMP WITH TIME ZONE,
    twin TEXT,
    joined_to TEXT,
    pages_alike INTEGER NOT NULL,
    pages_unlike INTEGER NOT NULL,
    discovered_at TIMESTAMP WITH TIME ZONE NOT NULL,
    last_processed_at TIMESTAMP WITH TIME ZONE,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_domain PRIMARY KEY (domain_id),
    CONSTRAINT uq_domain_project_id_domain_name UNIQUE (project_id, domain_name),
    CONSTRAINT fk_domain_project_id FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
);

CREATE INDEX ix_domain_best_confidence_score ON domain (project_id, best_confidence_score, domain_name);

CREATE INDEX ix_domain_boilerplate_share ON domain (project_id, boilerplate_share, domain_name);

CREATE INDEX ix_domain_last_crawled_at ON domain (project_id, last_crawled_at, domain_name);

CREATE INDEX ix_domain_pages ON domain (project_id, pages, domain_name);

CREATE INDEX ix_domain_status ON domain (project_id, status, domain_name);

CREATE INDEX ix_domain_twins ON domain (project_id, joined_to) WHERE twin IS NOT NULL;

CREATE TABLE domain_boilerplate (
    id UUID NOT NULL,
    project_id UUID NOT NULL,
    domain TEXT NOT NULL,
    method VARCHAR(16) NOT NULL,
    boilerplate_hashes JSON NOT NULL,
    evidence BYTEA,
    pages_analyzed INTEGER NOT NULL,
    blocks_total INTEGER NOT NULL,
    blocks_boilerplate INTEGER NOT NULL,
    bytes_removed_avg INTEGER NOT NULL,
    threshold_pct FLOAT NOT NULL,
    min_pages INTEGER NOT NULL,
    min_block_chars INTEGER NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_domain_boilerplate PRIMARY KEY (id),
    CONSTRAINT uq_domain_boilerplate_project_id_domain_method UNIQUE (project_id, domain, method),
    CONSTRAINT fk_domain_boilerplate_project_id FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
);

CREATE TABLE domain_validators (
    project_id UUID NOT NULL,
    domain TEXT NOT NULL,
    sent BIGINT NOT NULL,
    not_modified BIGINT NOT NULL,
    useless BIGINT NOT NULL,
    changed_304 BIGINT NOT NULL,
    lastmod_right BIGINT NOT NULL,
    lastmod_wrong BIGINT NOT NULL,
    CONSTRAINT pk_domain_validators PRIMARY KEY (project_id, domain),
    CONSTRAINT fk_domain_validators_project_id FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
);

CREATE TABLE extractions (
    project_id UUID NOT NULL,
    memo_key BYTEA NOT NULL,
    page_key BYTEA NOT NULL,
    url TEXT NOT NULL,
    domain TEXT NOT NULL,
    content_hash BYTEA NOT NULL,
    body_hash BYTEA,
    run_id UUID,
    is_usable BOOLEAN NOT NULL,
    callback TEXT NOT NULL,
    dedup_version TEXT,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    cb_kwargs BYTEA,
    requests BYTEA NOT NULL,
    items BYTEA,
    CONSTRAINT pk_extractions PRIMARY KEY (project_id, memo_key),
    CONSTRAINT fk_extractions_project_id FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
);

CREATE INDEX ix_extractions_project_id_page_key_memo_key ON extractions (project_id, page_key, memo_key);

CREATE INDEX ix_extractions_waiting ON extractions (run_id) WHERE NOT is_usable;

CREATE TABLE forgotten (
    project_id UUID NOT NULL,
    page_key BYTEA NOT NULL,
    CONSTRAINT pk_forgotten PRIMARY KEY (project_id, page_key),
    CONSTRAINT fk_forgotten_project_id FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
);

CREATE TABLE layout_alarms (
    project_id UUID NOT NULL,
    domain TEXT NOT NULL,
    layout BIGINT NOT NULL,
    raised_at TIMESTAMP WITH TIME ZONE NOT NULL,
    cause TEXT NOT NULL,
    pages_failed INTEGER NOT NULL,
    pages_looked INTEGER NOT NULL,
    first_failed_at TIMESTAMP WITH TIME ZONE NOT NULL,
    cleared_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_layout_alarms PRIMARY KEY (project_id, domain, layout, raised_at),
    CONSTRAINT fk_layout_alarms_project_id FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
);

CREATE UNIQUE INDEX ix_layout_alarms_open ON layout_alarms (project_id, domain, layout) WHERE cleared_at IS NULL;

CREATE TABLE layout_pictures (
    project_id UUID NOT NULL,
    domain TEXT NOT NULL,
    layout BIGINT NOT NULL,
    url TEXT NOT NULL,
    made_at TIMESTAMP WITH TIME ZONE NOT NULL,
    width INTEGER NOT NULL,
    height INTEGER NOT NULL,
    boxes JSON NOT NULL,
    picture BYTEA NOT NULL,
    CONSTRAINT pk_layout_pictures PRIMARY KEY (project_id, domain, layout),
    CONSTRAINT fk_layout_pictures_project_id FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
);

CREATE TABLE layout_runs (
    project_id UUID NOT NULL,
    domain TEXT NOT NULL,
    layout BIGINT NOT NULL,
    run_id UUID NOT NULL,
    pages BIGINT NOT NULL,
    first_url TEXT NOT NULL,
    counted_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_layout_runs PRIMARY KEY (project_id, domain, layout, run_id),
    CONSTRAINT fk_layout_runs_project_id FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
);

CREATE TABLE layout_signatures (
    project_id UUID NOT NULL,
    domain TEXT NOT NULL,
    level INTEGER NOT NULL,
    signature_hash BIGINT NOT NULL,
    template_id BIGINT,
    seen_count BIGINT NOT NULL,
    first_seen_at TIMESTAMP WITH TIME ZONE NOT NULL,
    last_seen_at TIMESTAMP WITH TIME ZONE NOT NULL,
    algorithm_version INTEGER NOT NULL,
    CONSTRAINT pk_layout_signatures PRIMARY KEY (project_id, domain, level, signature_hash),
    CONSTRAINT fk_layout_signatures_project_id FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
);

CREATE TABLE layout_templates (
    id BIGSERIAL NOT NULL,
    project_id UUID NOT NULL,
    domain TEXT NOT NULL,
    layout BIGINT NOT NULL,
    structure BIGINT NOT NULL,
    version INTEGER NOT NULL,
    state VARCHAR(16) NOT NULL,
    reason TEXT NOT NULL,
    kind TEXT NOT NULL,
    url_pattern TEXT,
    fingerprint TEXT NOT NULL,
    confidence FLOAT NOT NULL,
    pages INTEGER NOT NULL,
    source VARCHAR(16) NOT NULL,
    model VARCHAR(16) NOT NULL,
    algorithm_version INTEGER NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    state_at TIMESTAMP WITH TIME ZONE NOT NULL,
    selectors JSON NOT NULL,
    overrides JSON NOT NULL,
    paths BYTEA NOT NULL,
    body BYTEA NOT NULL,
    CONSTRAINT pk_layout_templates PRIMARY KEY (id),
    CONSTRAINT uq_layout_templates_project_id_domain_layout_version UNIQUE (project_id, domain, layout, version),
    CONSTRAINT fk_layout_templates_project_id FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
);

CREATE UNIQUE INDEX ix_layout_templates_live ON layout_templates (project_id, domain, layout) WHERE state = 'live';

CREATE TABLE memos (
    project_id UUID NOT NULL,
    key BYTEA NOT NULL,
    function TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    size_bytes INTEGER NOT NULL,
    result BYTEA NOT NULL,
    CONSTRAINT pk_memos PRIMARY KEY (project_id, key),
    CONSTRAINT fk_memos_project_id FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
);

CREATE INDEX ix_memos_oldest ON memos (project_id, created_at, key, size_bytes);

CREATE TABLE page_signatures (
    id BIGSERIAL NOT NULL,
    project_id UUID NOT NULL,
    page_key BYTEA NOT NULL,
    domain TEXT NOT NULL,
    title_key BYTEA,
    text_hash BYTEA NOT NULL,
    language VARCHAR(16) NOT NULL,
    version VARCHAR(32) NOT NULL,
    shingles INTEGER NOT NULL,
    layer VARCHAR(16),
    keeper BYTEA,
    jaccard FLOAT,
    signature BYTEA NOT NULL,
    bands BYTEA NOT NULL,
    CONSTRAINT pk_page_signatures PRIMARY KEY (id),
    CONSTRAINT uq_page_signatures_project_id_page_key UNIQUE (project_id, page_key),
    CONSTRAINT fk_page_signatures_project_id FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
);

CREATE INDEX ix_page_signatures_text ON page_signatures (project_id, text_hash);

CREATE INDEX ix_page_signatures_title ON page_signatures (project_id, domain, title_key) WHERE title_key IS NOT NULL;

CREATE TABLE responses (
    project_id UUID NOT NULL,
    wire_key BYTEA NOT NULL,
    url TEXT NOT NULL,
    domain TEXT NOT NULL,
    etag TEXT,
    last_modified TEXT,
    received_at TIMESTAMP WITH TIME ZONE NOT NULL,
    validated_at TIMESTAMP WITH TIME ZONE NOT NULL,
    sent_hash BYTEA NOT NULL,
    cookie_hash BYTEA NOT NULL,
    body_hash BYTEA NOT NULL,
    body_bytes INTEGER NOT NULL,
    headers BYTEA NOT NULL,
    is_packed BOOLEAN NOT NULL,
    body BYTEA NOT NULL,
    CONSTRAINT pk_responses PRIMARY KEY (project_id, wire_key),
    CONSTRAINT fk_responses_project_id FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
);

CREATE INDEX ix_responses_oldest ON responses (project_id, received_at, wire_key);

CREATE TABLE run_workers (
    id UUID NOT NULL,
    project_id UUID NOT NULL,
    run_id UUID NOT NULL,
    name TEXT NOT NULL,
    status VARCHAR(16) NOT NULL,
    reason TEXT,
    started_at TIMESTAMP WITH TIME ZONE NOT NULL,
    lease_until TIMESTAMP WITH TIME ZONE NOT NULL,
    finished_at TIMESTAMP WITH TIME ZONE,
    stats JSON NOT NULL,
    CONSTRAINT pk_run_workers PRIMARY KEY (id),
    CONSTRAINT fk_run_workers_project_id FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
);

CREATE INDEX ix_run_workers_run ON run_workers (project_id, run_id);

CREATE TABLE seen_scopes (
    id BIGSERIAL NOT NULL,
    project_id UUID NOT NULL,
    name TEXT NOT NULL,
    begun_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_seen_scopes PRIMARY KEY (id),
    CONSTRAINT uq_seen_scopes_project_id_name UNIQUE (project_id, name),
    CONSTRAINT fk_seen_scopes_project_id FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
);

CREATE TABLE site_config (
    project_id UUID NOT NULL,
    domain TEXT NOT NULL,
    version INTEGER NOT NULL,
    config JSON NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_site_config PRIMARY KEY (project_id, domain),
    CONSTRAINT fk_site_config_project_id FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
);

CREATE TABLE source_versions (
    project_id UUID NOT NULL,
    page_key BYTEA NOT NULL,
    fetched_at TIMESTAMP WITH TIME ZONE NOT NULL,
    content BYTEA NOT NULL,
    content_bytes INTEGER NOT NULL,
    CONSTRAINT pk_source_versions PRIMARY KEY (project_id, page_key, fetched_at),
    CONSTRAINT fk_source_versions_project_id FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
);

CREATE INDEX ix_source_versions_oldest ON source_versions (project_id, fetched_at, page_key);

CREATE TABLE sources (
    id BIGSERIAL NOT NULL,
    project_id UUID NOT NULL,
    page_key BYTEA NOT NULL,
    url TEXT NOT NULL,
    domain TEXT NOT NULL,
    source_group TEXT,
    field VARCHAR(16) NOT NULL,
    content BYTEA,
    content_bytes INTEGER NOT NULL,
    cleaned_content TEXT,
    cleaned_bytes INTEGER NOT NULL,
    title TEXT,
    content_type TEXT,
    fetched_at TIMESTAMP WITH TIME ZONE NOT NULL,
    report BYTEA,
    CONSTRAINT pk_sources PRIMARY KEY (id),
    CONSTRAINT uq_sources_project_id_page_key UNIQUE (project_id, page_key),
    CONSTRAINT fk_sources_project_id FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
);

CREATE INDEX ix_sources_domain_by_key ON sources (project_id, domain, page_key);

CREATE INDEX ix_sources_domain_oldest ON sources (project_id, domain, fetched_at, page_key);

CREATE INDEX ix_sources_oldest ON sources (project_id, fetched_at, page_key) WHERE content IS NOT NULL;

CREATE TABLE url_parameters (
    project_id UUID NOT NULL,
    domain TEXT NOT NULL,
    name TEXT NOT NULL,
    same INTEGER NOT NULL,
    different INTEGER NOT NULL,
    ignored BOOLEAN NOT NULL,
    seen_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_url_parameters PRIMARY KEY (project_id, domain, name),
    CONSTRAINT fk_url_parameters_project_id FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
);

CREATE TABLE visits (
    id BIGSERIAL NOT NULL,
    project_id UUID NOT NULL,
    run_id UUID NOT NULL,
    page_key BYTEA NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    http_status INTEGER,
    verdict VARCHAR(16),
    change_class VARCHAR(32),
    reason TEXT NOT NULL,
    bytes_received BIGINT NOT NULL,
    seconds FLOAT NOT NULL,
    callback_run BOOLEAN NOT NULL,
    fetched VARCHAR(16) NOT NULL,
    CONSTRAINT pk_visits PRIMARY KEY (id),
    CONSTRAINT uq_visits_project_id_run_id_at_page_key UNIQUE (project_id, run_id, at, page_key),
    CONSTRAINT fk_visits_project_id FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
);

CREATE INDEX ix_visits_oldest ON visits (project_id, at, id, verdict);

CREATE TABLE seen_urls (
    scope_id BIGINT NOT NULL,
    fingerprint BYTEA NOT NULL,
    CONSTRAINT pk_seen_urls PRIMARY KEY (scope_id, fingerprint),
    CONSTRAINT fk_seen_urls_scope_id FOREIGN KEY(scope_id) REFERENCES seen_scopes (id) ON DELETE CASCADE
);
