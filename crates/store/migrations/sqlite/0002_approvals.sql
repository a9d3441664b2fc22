-- Calls that wait for a person, and what was decided about them. A call has at most one that is neither used nor
-- expired: (caller, tool, arguments, contract) is what an approval is bound to. Times are milliseconds since 1970.
CREATE TABLE approval (
    id           TEXT PRIMARY KEY,
    state        TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'denied', 'used')),
    caller       TEXT NOT NULL,
    tool         TEXT NOT NULL,
    arguments    TEXT NOT NULL,
    contract     TEXT NOT NULL,
    request_id   TEXT NOT NULL,
    preview      TEXT NOT NULL,
    requested_at INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    decided_by   TEXT
) STRICT;

CREATE INDEX approval_bond ON approval (caller, tool, arguments, contract);

-- Keys that all processes of one installation share.
CREATE TABLE secret (
    name  TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT;
