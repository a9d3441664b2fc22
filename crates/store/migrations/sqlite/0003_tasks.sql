-- Tasks in the order of their creation. AUTOINCREMENT: the id of a deleted task is never given again. Times are
-- milliseconds since 1970.
CREATE TABLE task (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    title        TEXT NOT NULL,
    description  TEXT,
    status       TEXT NOT NULL CHECK (status IN ('pending', 'completed')),
    created_at   INTEGER NOT NULL,
    completed_at INTEGER
) STRICT;

-- A page of one status costs the same however many tasks there are.
CREATE INDEX task_by_status ON task (status, id);
