-- Calls that wait for a person, and what was decided about them. A call has at most one that is neither used nor
-- expired: (caller, tool, scope, arguments, contract) is what an approval is bound to, where the scope is the project.
-- Times are milliseconds since 1970.
CREATE TABLE approval (
    id           TEXT PRIMARY KEY,
    state        TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'denied', 'used')),
    caller       TEXT NOT NULL,
    tool         TEXT NOT NULL,
    scope        TEXT NOT NULL,
    arguments    TEXT NOT NULL,
    contract     TEXT NOT NULL,
    request_id   TEXT NOT NULL,
    requested_at INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    decided_by   TEXT,
    preview      TEXT NOT NULL
) STRICT;

CREATE INDEX approval_bond ON approval (caller, tool, arguments, contract);
CREATE INDEX approval_expiry ON approval (expires_at);

-- Keys that all processes of one installation share.
CREATE TABLE secret (
    name  TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT;
