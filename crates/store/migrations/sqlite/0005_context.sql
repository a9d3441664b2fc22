-- What can be found of a repository, which is named by the path of its root. A path may be longer than an index on
-- PostgreSQL takes, so here and below a name is found by its SHA-256. `revision` grows with every change of what
-- belongs to the scope.
CREATE TABLE context_scope (
    id        INTEGER PRIMARY KEY,
    path_hash BLOB NOT NULL UNIQUE,
    path      TEXT NOT NULL,
    revision  INTEGER NOT NULL
) STRICT;

-- Where rows come from: a file, a commit. `name_hash` is that of the scope's hash and the name; `digest` says of which
-- content the rows were made. AUTOINCREMENT, here and below: whoever asks for what was removed or replaced meanwhile
-- must not get another.
CREATE TABLE context_origin (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    scope     INTEGER NOT NULL,
    name_hash BLOB NOT NULL UNIQUE,
    name      TEXT NOT NULL,
    digest    BLOB NOT NULL
) STRICT;

CREATE INDEX context_origin_by_scope ON context_origin (scope);

-- What can be found, in JSON.
CREATE TABLE context_row (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    origin    INTEGER NOT NULL,
    ordinal   INTEGER NOT NULL,
    text_hash BLOB NOT NULL,
    body      TEXT NOT NULL,
    UNIQUE (origin, ordinal)
) STRICT;

-- For the question whether anybody still has a text.
CREATE INDEX context_row_by_text ON context_row (text_hash);

CREATE TABLE context_model (
    id        INTEGER PRIMARY KEY,
    name_hash BLOB NOT NULL UNIQUE,
    name      TEXT NOT NULL
) STRICT;

-- A model's vector for a text, whoever has the text. `unused_since` is when nobody was found to have it, in
-- milliseconds since 1970. With a rowid: rows of this size would make a deep tree of the key's index. The text comes
-- first in the key: while PostgreSQL has not counted the models yet, it takes a model for something rare.
CREATE TABLE context_vector (
    text_hash    BLOB NOT NULL,
    model        INTEGER NOT NULL,
    vector       BLOB NOT NULL,
    unused_since INTEGER,
    PRIMARY KEY (text_hash, model)
) STRICT;

-- When unused vectors were last looked for.
CREATE TABLE context_sweep (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    swept_at INTEGER NOT NULL
) STRICT;

INSERT INTO context_sweep (only_row, swept_at) VALUES (1, 0);
