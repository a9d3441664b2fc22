//! Messages to a server and from it, one at a time, whatever carries them. A link knows no protocol: it bounds what
//! comes, and says when it is over.

mod http;
mod sse;
mod stdio;

use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(crate) use self::http::{HttpLink, LOCAL_ERROR};
pub(crate) use self::stdio::StdioLink;
use crate::spec::Reach;

/// A longer message ends the link: nobody sends one by accident.
pub(crate) const MESSAGE_MAX: usize = 16 * 1024 * 1024;

/// Messages that wait to be looked at; a server that sends faster waits.
const INCOMING_MAX: usize = 256;

/// One message: a JSON object. What else it is, the session finds out.
pub(crate) type Message = Map<String, Value>;

/// Where messages go, and whatever keeps the link alive.
#[derive(Debug)]
pub(crate) enum Link {
    Stdio(StdioLink),
    Http(HttpLink),
}

/// Why a message could not be sent, or nothing comes any more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    #[error("the program cannot be started: {0}")]
    Start(String),
    #[error("the connection is over: {0}")]
    Over(String),
    #[error("the server cannot be reached: {0}")]
    Unreachable(String),
    #[error("the server answers with status {0}")]
    Status(u16),
    #[error("the server sends what is no message: {0}")]
    Garbled(String),
}

/// What carrying messages needs of its surroundings.
#[derive(Debug, Clone)]
pub(crate) struct Surroundings {
    /// Tasks of this link; they end with `ended`.
    pub(crate) tasks: TaskTracker,
    /// Pulled when the link is over, by either side.
    pub(crate) ended: CancellationToken,
    /// For the log.
    pub(crate) server: String,
    pub(crate) incoming: mpsc::Sender<Message>,
}

impl Link {
    /// Starts or finds the server; messages from it come to the receiver.
    pub(crate) fn open(
        server: &str,
        reach: &Reach,
        tasks: &TaskTracker,
    ) -> Result<(Self, mpsc::Receiver<Message>, CancellationToken), LinkError> {
        let (incoming, messages) = mpsc::channel(INCOMING_MAX);
        let ended = CancellationToken::new();
        let surroundings =
            Surroundings { tasks: tasks.clone(), ended: ended.clone(), server: server.to_owned(), incoming };
        let link = match reach {
            Reach::Program { command, args, env, folder } => {
                Self::Stdio(StdioLink::start(command, args, env, folder, surroundings)?)
            }
            Reach::Http { url, headers } => Self::Http(HttpLink::new(url, headers, surroundings)?),
        };
        Ok((link, messages, ended))
    }

    pub(crate) async fn send(&self, message: Message) -> Result<(), LinkError> {
        match self {
            Self::Stdio(link) => link.send(message).await,
            Self::Http(link) => {
                link.send(message);
                Ok(())
            }
        }
    }

    /// Sent if there is room, without waiting: for what is only a courtesy.
    pub(crate) fn try_send(&self, message: Message) {
        match self {
            Self::Stdio(link) => link.try_send(message),
            Self::Http(link) => link.send(message),
        }
    }

    /// What the session has agreed on, which HTTP repeats with every request.
    pub(crate) fn agree(&self, version: &str) {
        if let Self::Http(link) = self {
            link.agree(version);
        }
    }
}

/// A message, if that is what it is.
pub(crate) fn parse(bytes: &[u8]) -> Result<Message, LinkError> {
    match countersign_contract::parse_json(bytes) {
        Ok(Value::Object(message)) => Ok(message),
        Ok(_) => Err(LinkError::Garbled("not an object".to_owned())),
        Err(error) => Err(LinkError::Garbled(error.to_string())),
    }
}
