//! Rows and vectors of the context index, in the database. What changes them runs in the writer's transaction.
//!
//! Whoever writes a scope takes its row first: on a server, two that write the same origins in another order would wait
//! for each other. A set goes along as a list of parameters, which is the one form that both databases understand.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};
use sha2::{Digest as _, Sha256};
use sqlx::AssertSqlSafe;

use super::approvals::Found;
use super::sql::{Connection, Query, Row};
use crate::context::{ContextRow, Digest, OriginRows};

/// What one statement asks for at most.
const SET_MAX: usize = 512;

/// What one statement inserts at most: with more, finding the parameters costs more than the way there and back.
const INSERTED_MAX: usize = 64;

/// Vectors that are looked at in one transaction, to see whether they are used.
const SWEPT_MAX: i64 = 500;

/// How often they are looked at, by whichever process comes first.
const SWEPT_EVERY: SignedDuration = SignedDuration::from_hours(24);

/// Long enough for a branch that is left to be come back to.
const UNUSED_FOR: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Texts are swept in the order of their hashes; none has the first one or the last.
pub(crate) const BEFORE_ALL: Digest = [0; 32];
const AFTER_ALL: Digest = [255; 32];

/// All of a scope, in the order of their names.
pub(crate) async fn origins(connection: &mut Connection, scope: &str) -> Result<Vec<(String, Digest)>, sqlx::Error> {
    let text = "SELECT name, digest FROM context_origin \
                WHERE scope = (SELECT id FROM context_scope WHERE path_hash = $1)";
    let rows = connection.query(text).bind(hash_of(scope).as_slice()).fetch_all().await?;
    let mut origins: Vec<(String, Digest)> = Vec::with_capacity(rows.len());
    for row in &rows {
        origins.push((row.get(0)?, digest_in(row, 1)?));
    }
    // Not by the database: each has another opinion about the order of letters.
    origins.sort_unstable();
    Ok(origins)
}

/// In the order of their origins' names and of their ordinals. Not by a join: PostgreSQL would rather read all rows of
/// all scopes than ask for so many origins' rows. In between an origin may get other rows, all of them, or go.
pub(crate) async fn rows_of(
    connection: &mut Connection,
    scope: &str,
    origins: &[String],
) -> Result<Vec<ContextRow>, sqlx::Error> {
    let hashes: Vec<Digest> = origins.iter().map(|name| origin_hash(scope, name)).collect();
    let mut names: HashMap<i64, String> = HashMap::with_capacity(origins.len());
    for part in hashes.chunks(SET_MAX) {
        let text = format!("SELECT id, name FROM context_origin WHERE name_hash IN ({})", list(1, part.len()));
        for row in &bind_hashes(connection.query(AssertSqlSafe(text)), part).fetch_all().await? {
            names.insert(row.get(0)?, row.get(1)?);
        }
    }
    let ids: Vec<i64> = names.keys().copied().collect();
    let mut found = Vec::new();
    for part in ids.chunks(SET_MAX) {
        let text = format!(
            "SELECT id, origin, ordinal, text_hash, body FROM context_row WHERE origin IN ({})",
            list(1, part.len())
        );
        for row in &bind_ids(connection.query(AssertSqlSafe(text)), part).fetch_all().await? {
            let origin: i64 = row.get(1)?;
            let origin = names.get(&origin).ok_or(sqlx::Error::RowNotFound)?.clone();
            let (id, ordinal, text_hash, body) = (row.get(0)?, row.get(2)?, digest_in(row, 3)?, row.get(4)?);
            found.push(ContextRow { id, origin, ordinal, text_hash, body });
        }
    }
    found.sort_unstable_by(|one, other| (&one.origin, one.ordinal).cmp(&(&other.origin, other.ordinal)));
    Ok(found)
}

/// Of those that are still there.
pub(crate) async fn bodies(connection: &mut Connection, ids: &[i64]) -> Result<Vec<(i64, String)>, sqlx::Error> {
    let mut found = Vec::with_capacity(ids.len());
    for part in ids.chunks(SET_MAX) {
        let text = format!("SELECT id, body FROM context_row WHERE id IN ({})", list(1, part.len()));
        for row in &bind_ids(connection.query(AssertSqlSafe(text)), part).fetch_all().await? {
            found.push((row.get(0)?, row.get(1)?));
        }
    }
    Ok(found)
}

/// 0 where nothing was ever written.
pub(crate) async fn revision(connection: &mut Connection, scope: &str) -> Result<i64, sqlx::Error> {
    let text = "SELECT revision FROM context_scope WHERE path_hash = $1";
    let row = connection.query(text).bind(hash_of(scope).as_slice()).fetch_optional().await?;
    row.map_or(Ok(0), |row| row.get(0))
}

/// Of those that there are.
pub(crate) async fn vectors(
    connection: &mut Connection,
    model: &str,
    hashes: &[Digest],
) -> Result<Vec<(Digest, Vec<u8>)>, sqlx::Error> {
    let model = hash_of(model);
    let mut found = Vec::with_capacity(hashes.len());
    for part in hashes.chunks(SET_MAX) {
        let text = format!(
            "SELECT text_hash, vector FROM context_vector \
             WHERE text_hash IN ({}) AND model = (SELECT id FROM context_model WHERE name_hash = $1)",
            list(2, part.len())
        );
        let query = connection.query(AssertSqlSafe(text)).bind(model.as_slice());
        for row in &bind_hashes(query, part).fetch_all().await? {
            found.push((digest_in(row, 0)?, row.get(1)?));
        }
    }
    Ok(found)
}

/// How many rows a scope has.
pub(crate) async fn count(connection: &mut Connection, scope: &str) -> Result<i64, sqlx::Error> {
    let text = "SELECT COUNT(*) FROM context_row JOIN context_origin ON context_origin.id = origin \
                WHERE scope = (SELECT id FROM context_scope WHERE path_hash = $1)";
    connection.query(text).bind(hash_of(scope).as_slice()).fetch_one().await?.get(0)
}

/// Texts of a scope that the model has no vector for, each with one of the rows that have it, in the order of the rows.
pub(crate) async fn without_vectors(
    connection: &mut Connection,
    scope: &str,
    model: &str,
) -> Result<Vec<(i64, Digest)>, sqlx::Error> {
    let text = "SELECT MIN(context_row.id), text_hash FROM context_row \
                JOIN context_origin ON context_origin.id = origin \
                WHERE scope = (SELECT id FROM context_scope WHERE path_hash = $1) \
                AND NOT EXISTS (SELECT 1 FROM context_vector WHERE context_vector.text_hash = context_row.text_hash \
                                AND model = (SELECT id FROM context_model WHERE name_hash = $2)) \
                GROUP BY text_hash ORDER BY 1";
    let (scope, model) = (hash_of(scope), hash_of(model));
    let rows = connection.query(text).bind(scope.as_slice()).bind(model.as_slice()).fetch_all().await?;
    rows.iter().map(|row| Ok((row.get(0)?, digest_in(row, 1)?))).collect()
}

/// No two of the origins have the same name.
pub(crate) async fn replace(
    connection: &mut Connection,
    scope: &str,
    origins: &[OriginRows],
) -> Result<Found, sqlx::Error> {
    let scope_id = take_turn(connection, scope).await?;
    let changed = changed(connection, scope, origins).await?;
    if changed.is_empty() {
        return Ok(Found::AsItWas);
    }
    let ids = set_digests(connection, scope_id, &changed).await?;
    let replaced: Vec<i64> = ids.values().copied().collect();
    delete_rows(connection, &replaced).await?;
    insert_rows(connection, &ids, &changed).await?;
    grow(connection, scope_id).await?;
    Ok(Found::Changed)
}

pub(crate) async fn remove(connection: &mut Connection, scope: &str, names: &[String]) -> Result<Found, sqlx::Error> {
    let scope_id = take_turn(connection, scope).await?;
    let hashes: Vec<Digest> = names.iter().map(|name| origin_hash(scope, name)).collect();
    let mut removed: Vec<i64> = Vec::new();
    for part in hashes.chunks(SET_MAX) {
        let text = format!("DELETE FROM context_origin WHERE name_hash IN ({}) RETURNING id", list(1, part.len()));
        for row in &bind_hashes(connection.query(AssertSqlSafe(text)), part).fetch_all().await? {
            removed.push(row.get(0)?);
        }
    }
    if removed.is_empty() {
        return Ok(Found::AsItWas);
    }
    delete_rows(connection, &removed).await?;
    grow(connection, scope_id).await?;
    Ok(Found::Changed)
}

/// Those that are there stay as they are. They come in the order of their hashes: two scopes that write the same ones
/// wait for each other in turn, not both at once.
pub(crate) async fn keep_vectors(
    connection: &mut Connection,
    scope: &str,
    model: &str,
    vectors: &[(Digest, Vec<u8>)],
) -> Result<Found, sqlx::Error> {
    let scope = take_turn(connection, scope).await?;
    let model = model_id(connection, model).await?;
    let mut kept = 0;
    for piece in pieces(vectors) {
        let text = format!(
            "INSERT INTO context_vector (text_hash, model, vector) VALUES {} ON CONFLICT (text_hash, model) DO NOTHING",
            values(piece.len(), 3)
        );
        let mut query = connection.query(AssertSqlSafe(text));
        for (hash, vector) in piece {
            query = query.bind(hash.as_slice()).bind(model).bind(vector.as_slice());
        }
        kept += query.execute().await?;
    }
    if kept == 0 {
        return Ok(Found::AsItWas);
    }
    grow(connection, scope).await?;
    Ok(Found::Changed)
}

/// [`Found::Changed`] where it is time to look for unused vectors, and nobody else does.
pub(crate) async fn begin_sweep(connection: &mut Connection, now: Timestamp) -> Result<Found, sqlx::Error> {
    let text = "UPDATE context_sweep SET swept_at = $1 WHERE swept_at < $2";
    let before = (now - SWEPT_EVERY).as_millisecond();
    let changed = connection.query(text).bind(now.as_millisecond()).bind(before).execute().await?;
    Ok(if changed > 0 { Found::Changed } else { Found::AsItWas })
}

/// Looks at the texts that come next, notes which of them nobody has, and drops the vectors of those that nobody has
/// had for long. Answers where to go on. A text that comes back at this very moment may lose its vectors, and gets new
/// ones.
pub(crate) async fn sweep(
    connection: &mut Connection,
    after: Digest,
    now: Timestamp,
) -> Result<(Option<Digest>, Found), sqlx::Error> {
    let text = "SELECT text_hash FROM context_vector WHERE text_hash > $1 \
                ORDER BY text_hash LIMIT 1 OFFSET CAST($2 AS BIGINT)";
    let last = connection.query(text).bind(after.as_slice()).bind(SWEPT_MAX - 1).fetch_optional().await?;
    let last = last.map(|row| digest_in(&row, 0)).transpose()?;
    let up_to = last.unwrap_or(AFTER_ALL);
    let again = "UPDATE context_vector SET unused_since = NULL \
                 WHERE text_hash > $1 AND text_hash <= $2 AND unused_since < $3 \
                 AND EXISTS (SELECT 1 FROM context_row WHERE context_row.text_hash = context_vector.text_hash)";
    let no_longer = "UPDATE context_vector SET unused_since = $3 \
                     WHERE text_hash > $1 AND text_hash <= $2 AND unused_since IS NULL \
                     AND NOT EXISTS (SELECT 1 FROM context_row WHERE context_row.text_hash = context_vector.text_hash)";
    let for_long = "DELETE FROM context_vector WHERE text_hash > $1 AND text_hash <= $2 AND unused_since < $3";
    let mut changed = 0;
    for (text, time) in [(again, now), (no_longer, now), (for_long, now - UNUSED_FOR)] {
        let query = connection.query(text).bind(after.as_slice()).bind(up_to.as_slice());
        changed += query.bind(time.as_millisecond()).execute().await?;
    }
    Ok((last, if changed > 0 { Found::Changed } else { Found::AsItWas }))
}

/// Answers the scope's number; until the end of the transaction, nobody else writes what belongs to it.
async fn take_turn(connection: &mut Connection, scope: &str) -> Result<i64, sqlx::Error> {
    // The update changes nothing: it takes the row, which a plain look would not.
    let text = "INSERT INTO context_scope (path_hash, path, revision) VALUES ($1, $2, 0) \
                ON CONFLICT (path_hash) DO UPDATE SET revision = context_scope.revision RETURNING id";
    let row = connection.query(text).bind(hash_of(scope).as_slice()).bind(scope).fetch_one().await?;
    row.get(0)
}

async fn grow(connection: &mut Connection, scope: i64) -> Result<(), sqlx::Error> {
    let text = "UPDATE context_scope SET revision = revision + 1 WHERE id = $1";
    connection.query(text).bind(scope).execute().await.map(drop)
}

/// Those that are not there with the same digest, by the hash of their name.
async fn changed<'o>(
    connection: &mut Connection,
    scope: &str,
    origins: &'o [OriginRows],
) -> Result<Vec<(Digest, &'o OriginRows)>, sqlx::Error> {
    let hashes: Vec<Digest> = origins.iter().map(|origin| origin_hash(scope, &origin.name)).collect();
    let mut known = HashMap::with_capacity(hashes.len());
    for part in hashes.chunks(SET_MAX) {
        let text = format!("SELECT name_hash, digest FROM context_origin WHERE name_hash IN ({})", list(1, part.len()));
        for row in &bind_hashes(connection.query(AssertSqlSafe(text)), part).fetch_all().await? {
            known.insert(digest_in(row, 0)?, digest_in(row, 1)?);
        }
    }
    let all = hashes.into_iter().zip(origins);
    Ok(all.filter(|(hash, origin)| known.get(hash) != Some(&origin.digest)).collect())
}

/// Answers the origins' numbers by the hash of their name.
async fn set_digests(
    connection: &mut Connection,
    scope: i64,
    origins: &[(Digest, &OriginRows)],
) -> Result<HashMap<Digest, i64>, sqlx::Error> {
    let mut ids = HashMap::with_capacity(origins.len());
    for piece in pieces(origins) {
        let text = format!(
            "INSERT INTO context_origin (scope, name_hash, name, digest) VALUES {} \
             ON CONFLICT (name_hash) DO UPDATE SET digest = excluded.digest RETURNING name_hash, id",
            values(piece.len(), 4)
        );
        let mut query = connection.query(AssertSqlSafe(text));
        for (name_hash, origin) in piece {
            query = query.bind(scope).bind(name_hash.as_slice());
            query = query.bind(origin.name.as_str()).bind(origin.digest.as_slice());
        }
        for row in &query.fetch_all().await? {
            ids.insert(digest_in(row, 0)?, row.get(1)?);
        }
    }
    Ok(ids)
}

async fn insert_rows(
    connection: &mut Connection,
    ids: &HashMap<Digest, i64>,
    origins: &[(Digest, &OriginRows)],
) -> Result<(), sqlx::Error> {
    let mut rows = Vec::new();
    for (name_hash, origin) in origins {
        let id = *ids.get(name_hash).ok_or(sqlx::Error::RowNotFound)?;
        for (ordinal, row) in (0_i64..).zip(&origin.rows) {
            rows.push((id, ordinal, row));
        }
    }
    for piece in pieces(&rows) {
        let text =
            format!("INSERT INTO context_row (origin, ordinal, text_hash, body) VALUES {}", values(piece.len(), 4));
        let mut query = connection.query(AssertSqlSafe(text));
        for (origin, ordinal, row) in piece {
            query = query.bind(*origin).bind(*ordinal).bind(row.text_hash.as_slice()).bind(row.body.as_str());
        }
        query.execute().await?;
    }
    Ok(())
}

async fn delete_rows(connection: &mut Connection, origins: &[i64]) -> Result<(), sqlx::Error> {
    for part in origins.chunks(SET_MAX) {
        let text = format!("DELETE FROM context_row WHERE origin IN ({})", list(1, part.len()));
        bind_ids(connection.query(AssertSqlSafe(text)), part).execute().await?;
    }
    Ok(())
}

async fn model_id(connection: &mut Connection, model: &str) -> Result<i64, sqlx::Error> {
    let hash = hash_of(model);
    let text = "SELECT id FROM context_model WHERE name_hash = $1";
    if let Some(row) = connection.query(text).bind(hash.as_slice()).fetch_optional().await? {
        return row.get(0);
    }
    let text = "INSERT INTO context_model (name_hash, name) VALUES ($1, $2) \
                ON CONFLICT (name_hash) DO UPDATE SET name = excluded.name RETURNING id";
    let row = connection.query(text).bind(hash.as_slice()).bind(model).fetch_one().await?;
    row.get(0)
}

fn hash_of(name: &str) -> Digest {
    Sha256::digest(name.as_bytes()).into()
}

/// The same name is another origin in another scope.
fn origin_hash(scope: &str, name: &str) -> Digest {
    Sha256::new_with_prefix(hash_of(scope)).chain_update(name).finalize().into()
}

fn digest_in(row: &Row, column: usize) -> Result<Digest, sqlx::Error> {
    let bytes: &[u8] = row.get(column)?;
    bytes.try_into().map_err(|_| sqlx::Error::Decode(format!("a digest of {} bytes", bytes.len()).into()))
}

/// The parameters of a set that is not empty, from `$first` on: up to twice as many as are needed, so that few
/// different statements are prepared and kept.
fn list(first: usize, count: usize) -> String {
    let parameters: Vec<String> =
        (first..first + count.next_power_of_two()).map(|number| format!("${number}")).collect();
    parameters.join(", ")
}

/// What such parameters are given: each member, and the last one again and again.
fn filled<T>(set: &[T]) -> impl Iterator<Item = &T> {
    set.iter().chain(set.last().into_iter().cycle()).take(set.len().next_power_of_two())
}

fn bind_hashes<'c>(query: Query<'c>, hashes: &'c [Digest]) -> Query<'c> {
    filled(hashes).fold(query, |query, hash| query.bind(hash.as_slice()))
}

fn bind_ids<'c>(query: Query<'c>, ids: &[i64]) -> Query<'c> {
    filled(ids).fold(query, |query, id| query.bind(*id))
}

/// For one statement each. Sizes are powers of two, for the same reason.
fn pieces<T>(mut rest: &[T]) -> Vec<&[T]> {
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let (piece, others) = rest.split_at(INSERTED_MAX.min(1_usize << rest.len().ilog2()));
        pieces.push(piece);
        rest = others;
    }
    pieces
}

/// `($1, $2), ($3, $4)` for two rows of two columns.
fn values(rows: usize, columns: usize) -> String {
    let row = |number: usize| {
        let parameters: Vec<String> = (1..=columns).map(|column| format!("${}", number * columns + column)).collect();
        format!("({})", parameters.join(", "))
    };
    (0..rows).map(row).collect::<Vec<_>>().join(", ")
}
