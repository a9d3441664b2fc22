-- The same tables as on SQLite; the comments there say what they are for.
CREATE TABLE audit_chain (
    id        BIGINT PRIMARY KEY,
    uuid      TEXT NOT NULL,
    opened_at TEXT NOT NULL,
    head_seq  BIGINT NOT NULL,
    head_hash BYTEA NOT NULL
);

CREATE TABLE audit_link (
    opening BIGINT NOT NULL,
    chain   BIGINT NOT NULL,
    seq     BIGINT NOT NULL,
    hash    BYTEA NOT NULL,
    PRIMARY KEY (opening, chain)
);

CREATE INDEX audit_link_target ON audit_link (chain, seq);

CREATE TABLE audit_record (
    place BIGINT PRIMARY KEY,
    body  TEXT NOT NULL,
    hash  BYTEA NOT NULL,
    chain BIGINT GENERATED ALWAYS AS (place >> 32) STORED,
    seq   BIGINT GENERATED ALWAYS AS (place & 4294967295) STORED
);

CREATE TABLE audit_anchor (
    only_row      BIGINT PRIMARY KEY CHECK (only_row = 1),
    chains_opened BIGINT NOT NULL
);

INSERT INTO audit_anchor (only_row, chains_opened) VALUES (1, 0);
