//! Which version's tables a database has.

use sqlx::migrate::Migrator;

use super::sql::Connection;

pub(super) enum Schema {
    Current,
    /// There is none, or one that can be brought to this version's.
    Older {
        empty: bool,
    },
    Newer {
        found: i64,
    },
}

/// What `Migrator::run` would find out, without the table creation and the transactions it begins with.
pub(super) async fn schema_of(connection: &mut Connection, migrator: &Migrator) -> Result<Schema, sqlx::Error> {
    let known = match connection {
        Connection::Sqlite(_) | Connection::SqliteOnTheSpot(_) => {
            "SELECT count(*) FROM sqlite_schema WHERE name = '_sqlx_migrations'"
        }
        Connection::Postgres(_) => "SELECT count(to_regclass('_sqlx_migrations'))",
    };
    if connection.query(known).fetch_one().await?.get::<i64>(0)? == 0 {
        return Ok(Schema::Older { empty: true });
    }
    let text = "SELECT version, checksum FROM _sqlx_migrations WHERE success ORDER BY version";
    let applied = connection.query(text).fetch_all().await?;
    let applied: Vec<(i64, &[u8])> =
        applied.iter().map(|row| Ok((row.get(0)?, row.get(1)?))).collect::<Result<_, sqlx::Error>>()?;
    if let Some(&(found, _)) = applied.last().filter(|(version, _)| *version > newest(migrator)) {
        return Ok(Schema::Newer { found });
    }
    let known = migrator.iter().map(|migration| (migration.version, migration.checksum.as_ref()));
    Ok(if known.eq(applied.iter().copied()) { Schema::Current } else { Schema::Older { empty: applied.is_empty() } })
}

pub(super) fn newest(migrator: &Migrator) -> i64 {
    migrator.iter().map(|migration| migration.version).max().unwrap_or_default()
}
