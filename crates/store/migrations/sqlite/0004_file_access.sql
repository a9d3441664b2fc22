-- How often and when a file of a repository was read last; the repository is named by the path of its root. Times are
-- milliseconds since 1970.
CREATE TABLE file_access (
    scope   TEXT NOT NULL,
    path    TEXT NOT NULL,
    count   INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    PRIMARY KEY (scope, path)
) STRICT, WITHOUT ROWID;

CREATE INDEX file_access_by_time ON file_access (scope, last_at);
