-- The same tables as on SQLite; the comments there say what they are for.
CREATE TABLE context_scope (
    id        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    path_hash BYTEA NOT NULL UNIQUE,
    path      TEXT NOT NULL,
    revision  BIGINT NOT NULL
);

CREATE TABLE context_origin (
    id        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    scope     BIGINT NOT NULL,
    name_hash BYTEA NOT NULL UNIQUE,
    name      TEXT NOT NULL,
    digest    BYTEA NOT NULL
);

CREATE INDEX context_origin_by_scope ON context_origin (scope);

CREATE TABLE context_row (
    id        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    origin    BIGINT NOT NULL,
    ordinal   BIGINT NOT NULL,
    text_hash BYTEA NOT NULL,
    body      TEXT NOT NULL,
    UNIQUE (origin, ordinal)
);

CREATE INDEX context_row_by_text ON context_row (text_hash);

CREATE TABLE context_model (
    id        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name_hash BYTEA NOT NULL UNIQUE,
    name      TEXT NOT NULL
);

CREATE TABLE context_vector (
    text_hash    BYTEA NOT NULL,
    model        BIGINT NOT NULL,
    vector       BYTEA NOT NULL,
    unused_since BIGINT,
    PRIMARY KEY (text_hash, model)
);

-- Vectors do not get smaller by compression, so it is not tried.
ALTER TABLE context_vector ALTER COLUMN vector SET STORAGE EXTERNAL;

CREATE TABLE context_sweep (
    only_row BIGINT PRIMARY KEY CHECK (only_row = 1),
    swept_at BIGINT NOT NULL
);

INSERT INTO context_sweep (only_row, swept_at) VALUES (1, 0);
