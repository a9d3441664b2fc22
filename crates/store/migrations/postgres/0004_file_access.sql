-- The same table as on SQLite.
CREATE TABLE file_access (
    scope   TEXT NOT NULL,
    path    TEXT NOT NULL,
    count   BIGINT NOT NULL,
    last_at BIGINT NOT NULL,
    PRIMARY KEY (scope, path)
);

CREATE INDEX file_access_by_time ON file_access (scope, last_at);
