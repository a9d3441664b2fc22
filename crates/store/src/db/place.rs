//! Where a store lies, and how to get a connection to it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use sqlx::postgres::PgConnectOptions;

use super::sql::{Connection, Held};
use super::sqlite::{File, FileIdentity};
use super::{postgres, sqlite};
use crate::StoreError;

/// Naming a place touches nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// SQLite's file is in it.
    Folder(PathBuf),
    Server(Server),
}

/// A database on a PostgreSQL server, and who we are there. Whatever prints it prints no password.
#[derive(Clone)]
pub struct Server {
    url: String,
    options: Box<PgConnectOptions>,
}

#[derive(Debug, thiserror::Error)]
#[error("not the address of a PostgreSQL database")]
pub struct BadAddress;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IfMissing {
    Create,
    Refuse,
}

/// A connection, and which file it leads to.
#[derive(Debug)]
pub(crate) struct Connected {
    pub(crate) connection: Connection,
    identity: Option<FileIdentity>,
}

pub(crate) async fn connect(place: &Place, if_missing: IfMissing) -> Result<Connected, StoreError> {
    match place {
        Place::Folder(folder) => {
            let (connection, identity) = sqlite::connect(&File::in_folder(folder), if_missing).await?;
            Ok(Connected { connection, identity: Some(identity) })
        }
        Place::Server(server) => {
            let connection = postgres::connect(server, if_missing).await?;
            Ok(Connected { connection: Connection::Postgres(Held::Own(connection)), identity: None })
        }
    }
}

impl Place {
    /// Whether this is where the connection leads: a file may have been removed or replaced since.
    pub(crate) fn is_behind(&self, connected: &Connected) -> bool {
        match self {
            Self::Folder(folder) => File::in_folder(folder).identity().ok() == connected.identity,
            Self::Server(_) => true,
        }
    }
}

impl Server {
    /// As it could stand in a configuration, but for the password.
    pub fn url_without_password(&self) -> String {
        let (scheme, rest) = self.url.split_once("://").unwrap_or(("postgres", &self.url));
        // A password may stand among the parameters, too.
        let rest = rest.split_once('?').map_or(rest, |(address, _)| address);
        match rest.rsplit_once('@') {
            Some((user, address)) => {
                let user = user.split_once(':').map_or(user, |(name, _)| name);
                format!("{scheme}://{user}@{address}")
            }
            None => format!("{scheme}://{rest}"),
        }
    }

    pub(super) fn options(&self) -> PgConnectOptions {
        (*self.options).clone()
    }
}

impl FromStr for Server {
    type Err = BadAddress;

    fn from_str(url: &str) -> Result<Self, BadAddress> {
        if !(url.starts_with("postgres://") || url.starts_with("postgresql://")) {
            return Err(BadAddress);
        }
        let options = url.parse().map_err(|_| BadAddress)?;
        Ok(Self { url: url.to_owned(), options: Box::new(options) })
    }
}

impl PartialEq for Server {
    fn eq(&self, other: &Self) -> bool {
        self.url == other.url
    }
}

impl Eq for Server {}

impl fmt::Display for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let database = self.options.get_database().unwrap_or(self.options.get_username());
        match self.options.get_socket() {
            Some(socket) => write!(formatter, "{database} at {}", socket.display()),
            None => write!(formatter, "{database} at {}:{}", self.options.get_host(), self.options.get_port()),
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => folder.display().fmt(formatter),
            Self::Server(server) => server.fmt(formatter),
        }
    }
}

impl From<&Path> for Place {
    fn from(folder: &Path) -> Self {
        Self::Folder(folder.to_owned())
    }
}

impl From<&PathBuf> for Place {
    fn from(folder: &PathBuf) -> Self {
        Self::Folder(folder.clone())
    }
}

impl From<&Self> for Place {
    fn from(place: &Self) -> Self {
        place.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::Server;

    #[test]
    fn a_password_is_never_shown() {
        let server: Server = "postgres://ann:hunter2@db.example:6543/tasks?sslmode=require".parse().unwrap();
        for text in [format!("{server}"), format!("{server:?}")] {
            assert_eq!(text, "tasks at db.example:6543");
        }
        assert_eq!(server.url_without_password(), "postgres://ann@db.example:6543/tasks");
        for wrong in ["", "sqlite", "postgres", "mysql://a/b", "postgres://a:b:c/d", "postgres://h:99999/d"] {
            assert!(wrong.parse::<Server>().is_err(), "{wrong}");
        }
    }
}
