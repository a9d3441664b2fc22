//! Places for tests, in each kind of database that there is here.

use tempfile::TempDir;
use uuid::Uuid;

use super::place::{IfMissing, Place, connect};
use super::sql::Connection;

/// The address of a server on which tests may do as they like. The test command starts one.
const SERVER: &str = "COUNTERSIGN_TEST_POSTGRES";

/// What tests say to SQLite, and how PostgreSQL understands it.
const WORDS: [(&str, &str); 7] = [
    ("zeroblob(32)", "decode(repeat('00', 32), 'hex')"),
    ("x'00'", "decode('00', 'hex')"),
    ("char(10)", "chr(10)"),
    ("instr(", "strpos("),
    ("AS BLOB", "AS BYTEA"),
    ("2 << 32", "2::BIGINT << 32"),
    ("3 << 32", "3::BIGINT << 32"),
];

/// A place that is one test's own.
pub(crate) struct Site {
    pub(crate) place: Place,
    _folder: Option<TempDir>,
}

/// One on SQLite, and one on PostgreSQL where there is a server.
pub(crate) async fn sites() -> Vec<Site> {
    let mut sites = vec![on_sqlite()];
    sites.extend(on_postgres().await);
    sites
}

pub(crate) fn on_sqlite() -> Site {
    let folder = tempfile::tempdir().unwrap();
    Site { place: Place::from(folder.path()), _folder: Some(folder) }
}

pub(crate) async fn on_postgres() -> Option<Site> {
    let server = std::env::var_os(SERVER)?.into_string().unwrap();
    let name = format!("test_{}", Uuid::new_v4().simple());
    run(&server, &format!("CREATE DATABASE {name}")).await;
    let (address, _) = server.rsplit_once('/').unwrap();
    Some(Site { place: Place::Server(format!("{address}/{name}").parse().unwrap()), _folder: None })
}

async fn run(server: &str, statement: &str) {
    use sqlx::{Connection as _, Executor as _};
    let mut connection = sqlx::PgConnection::connect(server).await.unwrap();
    connection.execute(sqlx::AssertSqlSafe(statement)).await.unwrap();
    connection.close().await.unwrap();
}

impl Site {
    pub(crate) fn is_postgres(&self) -> bool {
        matches!(self.place, Place::Server(_))
    }

    pub(crate) async fn connect(&self) -> Connection {
        connect(&self.place, IfMissing::Create).await.unwrap().connection
    }

    /// Statements that come from outside, several of them if need be, in SQLite's words.
    pub(crate) async fn change(&self, statements: &str) {
        use sqlx::Executor as _;
        let mut connection = self.connect().await;
        match &mut connection {
            Connection::Sqlite(connection) => {
                connection.execute(sqlx::AssertSqlSafe(statements)).await.unwrap();
            }
            Connection::SqliteOnTheSpot(connection) => connection.execute_batch(statements).unwrap(),
            Connection::Postgres(connection) => {
                let words = WORDS.iter().fold(statements.to_owned(), |text, (word, other)| text.replace(word, other));
                connection.execute(sqlx::AssertSqlSafe(words)).await.unwrap();
            }
        }
        connection.close().await.unwrap();
    }
}
