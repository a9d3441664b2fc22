//! Messages to a server and from it, one at a time, whatever carries them. A link knows no protocol: it bounds what
//! comes, and says when it is over.

mod http;
mod sse;
mod starting;
mod stdio;
#[cfg(test)]
pub(crate) mod toy;

use std::sync::Arc;

use serde_json::{Map, Value};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(crate) use self::http::HttpLink;
pub(crate) use self::stdio::{Program, StdioLink};
use crate::spec::Reach;

/// A longer message ends the link: nobody sends one by accident.
pub(crate) const MESSAGE_MAX: usize = 8 * 1024 * 1024;

/// Values in one message: each takes many times the memory that it takes on the wire.
const PARTS_MAX: usize = 100_000;

/// One message: a JSON object. What else it is, the session finds out.
pub(crate) type Message = Map<String, Value>;

/// Where messages go, and whatever keeps the link alive.
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
    /// Nobody can be reached there any more, by whatever request.
    #[error("nobody is there: {0}")]
    Nobody(String),
    #[error("the server does not know the session any more")]
    Forgotten,
    #[error("the server answers with status {0}")]
    Status(u16),
    #[error("the server sends more than anybody needs: {0}")]
    TooMuch(String),
    #[error("the server sends what is no message: {0}")]
    Garbled(String),
}

/// Hears what comes from a server, in the task that it comes to: nobody has to be woken for it.
pub(crate) trait Listener: Send + Sync {
    /// Until when to read no more, where it was too much.
    fn hear(&self, message: Message, came: Came) -> Option<Instant>;

    /// The same for so many lines in which nothing was said.
    fn hear_nothing(&self, lines: u32) -> Option<Instant>;
}

/// What a message came with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Came {
    /// Everything comes the same way, so nobody can tell.
    Anyhow,
    /// On the way to the answer to this request.
    With(u64),
    /// Of its own accord.
    Alone,
}

/// A request whose answer is wanted.
pub(crate) struct Request<'a> {
    pub(crate) id: u64,
    pub(crate) message: Message,
    /// For its head, over HTTP.
    pub(crate) headers: &'a [(String, String)],
}

/// What carrying messages needs of its surroundings.
#[derive(Clone)]
pub(crate) struct Surroundings {
    /// Tasks of this link; they end with `ended`.
    pub(crate) tasks: TaskTracker,
    /// Pulled when the link is over, by either side.
    pub(crate) ended: CancellationToken,
    /// For the log.
    pub(crate) server: String,
    pub(crate) listener: Arc<dyn Listener>,
}

impl Link {
    /// Starts or finds the server.
    pub(crate) async fn open(reach: &Reach, surroundings: Surroundings) -> Result<Self, LinkError> {
        Ok(match reach {
            Reach::Program { command, args, env, folder, sandbox } => {
                let program = Program { command, args, env, folder, sandbox: sandbox.as_ref() };
                Self::Stdio(StdioLink::start(&program, surroundings).await?)
            }
            Reach::Http { url, headers } => Self::Http(HttpLink::new(url, headers, surroundings)?),
        })
    }

    /// The answer where it comes to whoever asks; otherwise this has no end, and the answer is heard. Dropped, it stops
    /// listening for it.
    pub(crate) async fn ask(&self, request: Request<'_>) -> Result<Message, LinkError> {
        match self {
            Self::Stdio(link) => {
                link.send(&request.message).await?;
                std::future::pending().await
            }
            Self::Http(link) => link.ask(request).await,
        }
    }

    pub(crate) async fn send(&self, message: Message) -> Result<(), LinkError> {
        match self {
            Self::Stdio(link) => link.send(&message).await,
            Self::Http(link) => link.send(message).await,
        }
    }

    /// Sent if there is room, without waiting: for what is only a courtesy.
    pub(crate) fn try_send(&self, message: Message) {
        match self {
            Self::Stdio(link) => link.try_send(&message),
            Self::Http(link) => link.try_send(message),
        }
    }

    /// Why nothing comes any more, as far as that is known.
    pub(crate) fn ending(&self) -> Option<String> {
        match self {
            Self::Stdio(link) => link.ending(),
            Self::Http(link) => link.ending(),
        }
    }

    /// What the session has agreed on, which HTTP repeats with every request.
    pub(crate) fn agree(&self, version: &str) {
        if let Self::Http(link) = self {
            link.agree(version);
        }
    }

    /// Whether one can tell on whose behalf a server asks something: over HTTP, by the request that it comes with.
    pub(crate) fn tells_askers_apart(&self) -> bool {
        match self {
            Self::Stdio(_) => false,
            Self::Http(_) => true,
        }
    }

    /// From now on there is a session, in which the server may say something of its own accord.
    pub(crate) async fn listen(&self) {
        if let Self::Http(link) = self {
            link.listen().await;
        }
    }
}

/// A message, if that is what it is.
pub(crate) fn parse(bytes: &[u8]) -> Result<Message, LinkError> {
    if bytes.len() > PARTS_MAX && parts(bytes) > PARTS_MAX {
        return Err(LinkError::TooMuch(format!("a message of more than {PARTS_MAX} parts")));
    }
    match countersign_contract::parse_json(bytes) {
        Ok(Value::Object(message)) => Ok(message),
        Ok(_) => Err(LinkError::Garbled("not an object".to_owned())),
        Err(error) => Err(LinkError::Garbled(error.to_string())),
    }
}

/// How many values there are, at most. What stands in texts does not count.
fn parts(bytes: &[u8]) -> usize {
    let (mut parts, mut in_text, mut escaped) = (0, false, false);
    for byte in bytes {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b',' | b'[' | b'{' if !in_text => parts += 1,
            _ => {}
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::{PARTS_MAX, parse, parts};

    #[test]
    fn parts_are_counted_outside_of_texts() {
        assert_eq!(parts(br#"{"a,[{": [1, "x\\\",{", {}]}"#), 5);
    }

    #[test]
    fn a_message_has_not_more_parts_than_anybody_needs() {
        let message = |count: usize| format!("{{\"a\":[{}0]}}", "0,".repeat(count)).into_bytes();
        assert!(parse(&message(PARTS_MAX / 2)).is_ok());
        assert!(parse(&message(PARTS_MAX + 1)).is_err());
        assert!(parse(format!("{{\"a\":\"{}\"}}", ",".repeat(2 * PARTS_MAX)).as_bytes()).is_ok());
    }
}
