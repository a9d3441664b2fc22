-- What is left of questions: the receipt in JSON. What a plan was made from is kept once for all receipts that share it,
-- under its digest. Times are milliseconds since 1970.
CREATE TABLE receipt (
    id       TEXT PRIMARY KEY,
    at       INTEGER NOT NULL,
    material TEXT NOT NULL,
    body     TEXT NOT NULL
) STRICT;

CREATE INDEX receipt_by_time ON receipt (at);
CREATE INDEX receipt_by_material ON receipt (material);

CREATE TABLE receipt_material (
    digest TEXT PRIMARY KEY,
    body   TEXT NOT NULL
) STRICT;
