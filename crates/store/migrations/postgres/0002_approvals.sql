-- The same tables as on SQLite; the comments there say what they are for.
CREATE TABLE approval (
    id           TEXT PRIMARY KEY,
    state        TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'denied', 'used')),
    caller       TEXT NOT NULL,
    tool         TEXT NOT NULL,
    scope        TEXT NOT NULL,
    arguments    TEXT NOT NULL,
    contract     TEXT NOT NULL,
    request_id   TEXT NOT NULL,
    requested_at BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    decided_by   TEXT,
    preview      TEXT NOT NULL
);

CREATE INDEX approval_bond ON approval (caller, tool, arguments, contract);
CREATE INDEX approval_expiry ON approval (expires_at);

CREATE TABLE secret (
    name  TEXT PRIMARY KEY,
    value BYTEA NOT NULL
);
