//! How often files were read, in the database.

use jiff::Timestamp;

use super::sql::Connection;
use crate::FileAccess;

/// Adds to what is there. In the order of paths: two processes that write the same ones wait for each other in turn, not
/// both at once.
pub(crate) async fn add(connection: &mut Connection, scope: &str, read: &[FileAccess]) -> Result<(), sqlx::Error> {
    for FileAccess { path, count, last_at } in read {
        let text = "INSERT INTO file_access (scope, path, count, last_at) VALUES ($1, $2, $3, $4) \
                    ON CONFLICT (scope, path) DO UPDATE SET count = file_access.count + excluded.count, last_at = \
                    CASE WHEN excluded.last_at > file_access.last_at THEN excluded.last_at ELSE file_access.last_at END";
        connection
            .query(text)
            .bind(scope)
            .bind(path.as_str())
            .bind(*count)
            .bind(last_at.as_millisecond())
            .execute()
            .await?;
    }
    Ok(())
}

/// Those read last, first.
pub(crate) async fn newest(
    connection: &mut Connection,
    scope: &str,
    limit: i64,
) -> Result<Vec<FileAccess>, sqlx::Error> {
    let text = "SELECT path, count, last_at FROM file_access WHERE scope = $1 \
                ORDER BY last_at DESC, path LIMIT CAST($2 AS BIGINT)";
    let rows = connection.query(text).bind(scope).bind(limit).fetch_all().await?;
    let read = rows.iter().map(|row| {
        let last_at = Timestamp::from_millisecond(row.get(2)?).map_err(|error| sqlx::Error::Decode(error.into()))?;
        Ok(FileAccess { path: row.get(0)?, count: row.get(1)?, last_at })
    });
    read.collect()
}
