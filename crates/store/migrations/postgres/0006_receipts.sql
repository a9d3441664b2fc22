-- The same tables as on SQLite.
CREATE TABLE receipt (
    id       TEXT PRIMARY KEY,
    at       BIGINT NOT NULL,
    material TEXT NOT NULL,
    body     TEXT NOT NULL
);

CREATE INDEX receipt_by_time ON receipt (at);
CREATE INDEX receipt_by_material ON receipt (material);

CREATE TABLE receipt_material (
    digest TEXT PRIMARY KEY,
    body   TEXT NOT NULL
);
