//! Tasks in the database. What changes one runs in the writer's transaction.

use jiff::Timestamp;

use super::sql::{Connection, Row};
use crate::{NewDescription, Task, TaskChange, TaskQuery, TaskStatus};

pub(crate) async fn add(
    connection: &mut Connection,
    title: String,
    description: Option<String>,
) -> Result<Task, sqlx::Error> {
    let created_at = now();
    let row = connection
        .query("INSERT INTO task (title, description, status, created_at) VALUES ($1, $2, 'pending', $3) RETURNING id")
        .bind(&title)
        .bind(&description)
        .bind(created_at.as_millisecond())
        .fetch_one()
        .await?;
    let id = row.get(0)?;
    Ok(Task { id, title, description, status: TaskStatus::Pending, created_at, completed_at: None })
}

pub(crate) async fn update(
    connection: &mut Connection,
    id: i64,
    change: &TaskChange,
) -> Result<Option<Task>, sqlx::Error> {
    let description = match &change.description {
        NewDescription::Keep | NewDescription::Remove => None,
        NewDescription::Set(text) => Some(text),
    };
    let row = connection
        .query(
            "UPDATE task SET title = COALESCE($2, title), description = CASE WHEN $3 THEN $4 ELSE description END \
         WHERE id = $1 RETURNING id, title, description, status, created_at, completed_at",
        )
        .bind(id)
        .bind(&change.title)
        .bind(change.description != NewDescription::Keep)
        .bind(description)
        .fetch_optional()
        .await?;
    row.as_ref().map(read).transpose()
}

pub(crate) async fn complete(connection: &mut Connection, id: i64) -> Result<Option<Task>, sqlx::Error> {
    let row = connection
        .query(
            "UPDATE task SET status = 'completed', completed_at = COALESCE(completed_at, $2) WHERE id = $1 \
         RETURNING id, title, description, status, created_at, completed_at",
        )
        .bind(id)
        .bind(now().as_millisecond())
        .fetch_optional()
        .await?;
    row.as_ref().map(read).transpose()
}

pub(crate) async fn delete(connection: &mut Connection, id: i64) -> Result<Option<()>, sqlx::Error> {
    let deleted = connection.query("DELETE FROM task WHERE id = $1").bind(id).execute().await?;
    Ok((deleted > 0).then_some(()))
}

/// A limit that is a bare parameter makes SQLite prepare the statement anew for every call.
pub(crate) async fn list(connection: &mut Connection, query: TaskQuery) -> Result<Vec<Task>, sqlx::Error> {
    let rows = match query.status {
        None => {
            let text = "SELECT id, title, description, status, created_at, completed_at FROM task \
                        WHERE id > $1 ORDER BY id LIMIT CAST($2 AS BIGINT)";
            connection.query(text).bind(query.after).bind(query.limit).fetch_all().await?
        }
        Some(status) => {
            let text = "SELECT id, title, description, status, created_at, completed_at FROM task \
                        WHERE status = $1 AND id > $2 ORDER BY id LIMIT CAST($3 AS BIGINT)";
            connection.query(text).bind(status.as_str()).bind(query.after).bind(query.limit).fetch_all().await?
        }
    };
    rows.iter().map(read).collect()
}

/// In the order in which all statements name them.
pub(crate) type Columns<'r> = (i64, String, Option<String>, &'r str, i64, Option<i64>);

fn read(row: &Row) -> Result<Task, sqlx::Error> {
    task((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?))
}

pub(crate) fn task(
    (id, title, description, status, created_at, completed_at): Columns<'_>,
) -> Result<Task, sqlx::Error> {
    let wrong = |error: String| sqlx::Error::Decode(error.into());
    let time = |milliseconds: i64| Timestamp::from_millisecond(milliseconds).map_err(|error| wrong(error.to_string()));
    let status = match status {
        "pending" => TaskStatus::Pending,
        "completed" => TaskStatus::Completed,
        other => return Err(wrong(format!("`{other}` is no status of a task"))),
    };
    let (created_at, completed_at) = (time(created_at)?, completed_at.map(time).transpose()?);
    Ok(Task { id, title, description, status, created_at, completed_at })
}

/// As the database keeps it.
fn now() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
}
