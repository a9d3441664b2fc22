-- One row per process that wrote an audit record. Ids count up from 1 without holes, so a removed chain leaves one.
CREATE TABLE audit_chain (
    id        INTEGER PRIMARY KEY,
    uuid      TEXT NOT NULL,
    opened_at TEXT NOT NULL,
    head_seq  INTEGER NOT NULL,
    head_hash BLOB NOT NULL
) STRICT;

-- Where other chains stood when a chain was opened: one row for each that had grown since the last link to it. The
-- opening's hash covers them, so neither they nor what they point to can change unnoticed.
CREATE TABLE audit_link (
    opening INTEGER NOT NULL,
    chain   INTEGER NOT NULL,
    seq     INTEGER NOT NULL,
    hash    BLOB NOT NULL,
    PRIMARY KEY (opening, chain)
) STRICT, WITHOUT ROWID;

-- For the question which chains have grown since.
CREATE INDEX audit_link_target ON audit_link (chain, seq);

-- One row for records that were committed together, a few at a time: as many rows as records would cost twice as much.
-- `body` has the exact text that was hashed, a line for each record, and `hash` has their hashes in the same order. The
-- key is the chain's id and, in its lower 32 bits, the number of the last record: with (chain, seq) as the key, WITHOUT
-- ROWID, a row cost twice as much to add. No foreign key to `audit_chain`: it would cost a lookup per row, and
-- verification finds records without a chain anyway.
CREATE TABLE audit_record (
    place INTEGER PRIMARY KEY,
    body  TEXT NOT NULL,
    hash  BLOB NOT NULL,
    chain INTEGER GENERATED ALWAYS AS (place >> 32) VIRTUAL,
    seq   INTEGER GENERATED ALWAYS AS (place & 0xffffffff) VIRTUAL
) STRICT;

-- How many chains were ever opened: the newest chain has no later one that would notice its removal.
CREATE TABLE audit_anchor (
    only_row      INTEGER PRIMARY KEY CHECK (only_row = 1),
    chains_opened INTEGER NOT NULL
) STRICT;

INSERT INTO audit_anchor (only_row, chains_opened) VALUES (1, 0);
