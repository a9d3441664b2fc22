-- The same table as on SQLite. A sequence gives no number twice; a transaction that is undone leaves a hole.
CREATE TABLE task (
    id           BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    title        TEXT NOT NULL,
    description  TEXT,
    status       TEXT NOT NULL CHECK (status IN ('pending', 'completed')),
    created_at   BIGINT NOT NULL,
    completed_at BIGINT
);

CREATE INDEX task_by_status ON task (status, id);
