//! Receipts in the database.

use jiff::Timestamp;

use super::sql::Connection;
use crate::StoredReceipt;

pub(crate) async fn add(connection: &mut Connection, receipt: &StoredReceipt) -> Result<(), sqlx::Error> {
    let material = "INSERT INTO receipt_material (digest, body) VALUES ($1, $2) ON CONFLICT (digest) DO NOTHING";
    let digest = receipt.material_digest.as_str();
    connection.query(material).bind(digest).bind(receipt.material.as_str()).execute().await?;
    connection
        .query("INSERT INTO receipt (id, at, material, body) VALUES ($1, $2, $3, $4)")
        .bind(receipt.id.as_str())
        .bind(receipt.at.as_millisecond())
        .bind(digest)
        .bind(receipt.body.as_str())
        .execute()
        .await?;
    Ok(())
}

/// Removes what is older, and then what no receipt shares any more.
pub(crate) async fn sweep(connection: &mut Connection, oldest: Timestamp) -> Result<(), sqlx::Error> {
    let old = "DELETE FROM receipt WHERE at < $1";
    if connection.query(old).bind(oldest.as_millisecond()).execute().await? == 0 {
        return Ok(());
    }
    let unshared = "DELETE FROM receipt_material WHERE NOT EXISTS \
                    (SELECT 1 FROM receipt WHERE receipt.material = receipt_material.digest)";
    connection.query(unshared).execute().await.map(drop)
}

pub(crate) async fn find(connection: &mut Connection, id: &str) -> Result<Option<StoredReceipt>, sqlx::Error> {
    let text = "SELECT receipt.id, at, receipt.body, digest, receipt_material.body FROM receipt \
                JOIN receipt_material ON digest = material WHERE receipt.id = $1";
    let row = connection.query(text).bind(id).fetch_optional().await?;
    row.map(|row| {
        Ok(StoredReceipt {
            id: row.get(0)?,
            at: time(row.get(1)?)?,
            body: row.get(2)?,
            material_digest: row.get(3)?,
            material: row.get(4)?,
        })
    })
    .transpose()
}

pub(crate) async fn newest(connection: &mut Connection, limit: i64) -> Result<Vec<(String, Timestamp)>, sqlx::Error> {
    let text = "SELECT id, at FROM receipt ORDER BY at DESC, id DESC LIMIT CAST($1 AS BIGINT)";
    let rows = connection.query(text).bind(limit).fetch_all().await?;
    rows.iter().map(|row| Ok((row.get(0)?, time(row.get(1)?)?))).collect()
}

fn time(milliseconds: i64) -> Result<Timestamp, sqlx::Error> {
    Timestamp::from_millisecond(milliseconds).map_err(|error| sqlx::Error::Decode(error.into()))
}
