//! A server over HTTP for tests: it answers as it is told, on as many connections as come.

use std::any::Any;
use std::cell::Cell;
use std::fmt::Write as _;
use std::pin::Pin;
use std::rc::Rc;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, DropGuard};

/// Gone when it is dropped, with all its connections.
pub(crate) struct Toy {
    pub(crate) port: u16,
    /// Connections that are open, and the most that ever were.
    pub(crate) open: Rc<Cell<(usize, usize)>>,
    _gone: DropGuard,
}

/// One request, whose `method` is that of its message: `GET` without one, nothing where it is an answer.
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) session: Option<String>,
    pub(crate) message: Value,
}

pub(crate) struct Answer {
    head: String,
    body: String,
    then: Then,
    after: Option<Pin<Box<dyn Future<Output = ()>>>>,
    held: Option<Rc<dyn Any>>,
}

#[derive(Clone, Copy)]
enum Then {
    Next,
    Closes,
    Stays,
}

impl Answer {
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        let body = body.to_string();
        let head = format!("{status} x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n", body.len());
        Self::new(head, body, Then::Next)
    }

    fn new(head: String, body: String, then: Then) -> Self {
        Self { head, body, then, after: None, held: None }
    }

    pub(crate) fn result(asked: &Asked, result: &Value) -> Self {
        Self::json(200, &json!({"jsonrpc": "2.0", "id": asked.message["id"], "result": result}))
    }

    pub(crate) fn error(asked: &Asked, status: u16, code: i64) -> Self {
        let error = json!({"code": code, "message": "no"});
        Self::json(status, &json!({"jsonrpc": "2.0", "id": asked.message["id"], "error": error}))
    }

    pub(crate) fn nothing(status: u16) -> Self {
        Self::new(format!("{status} x\r\ncontent-length: 0\r\n"), String::new(), Then::Next)
    }

    /// These events, and nothing after them.
    pub(crate) fn events(events: &[Value]) -> Self {
        let body = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        Self::new("200 x\r\ncontent-type: text/event-stream\r\n".to_owned(), body, Then::Stays)
    }

    /// No head at all.
    pub(crate) fn never() -> Self {
        Self::new(String::new(), String::new(), Then::Stays)
    }

    pub(crate) fn in_session(mut self, session: &str) -> Self {
        let _ = write!(self.head, "mcp-session-id: {session}\r\n");
        self
    }

    pub(crate) fn then_close(self) -> Self {
        Self { then: Then::Closes, ..self }
    }

    /// Not before that.
    pub(crate) fn after(self, that: impl Future<Output = ()> + 'static) -> Self {
        Self { after: Some(Box::pin(that)), ..self }
    }

    /// Until it is over, or the other side is gone.
    pub(crate) fn holding(self, held: Rc<dyn Any>) -> Self {
        Self { held: Some(held), ..self }
    }
}

impl Toy {
    /// On this port, or any if it is 0.
    pub(crate) async fn start(port: u16, answer: impl Fn(&Asked) -> Answer + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        let (port, open) = (listener.local_addr().unwrap().port(), Rc::<Cell<(usize, usize)>>::default());
        let (gone, answer, counted) = (CancellationToken::new(), Rc::new(answer), Rc::clone(&open));
        let over = gone.clone();
        let serving = async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (answer, counted, over) = (Rc::clone(&answer), Rc::clone(&counted), over.clone());
                drop(tokio::task::spawn_local(async move {
                    let (now, most) = counted.get();
                    counted.set((now + 1, most.max(now + 1)));
                    over.run_until_cancelled(serve(stream, &*answer)).await;
                    let (now, most) = counted.get();
                    counted.set((now - 1, most));
                }));
            }
        };
        let over = gone.clone();
        drop(tokio::task::spawn_local(async move { over.run_until_cancelled(serving).await }));
        Self { port, open, _gone: gone.drop_guard() }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }
}

async fn serve(stream: TcpStream, answer: &dyn Fn(&Asked) -> Answer) {
    let mut stream = BufReader::new(stream);
    while let Some(asked) = read(&mut stream).await {
        let Answer { head, body, then, after, held: _held } = answer(&asked);
        if let Some(after) = after {
            after.await;
        }
        if !head.is_empty() && stream.write_all(format!("HTTP/1.1 {head}\r\n{body}").as_bytes()).await.is_err() {
            return;
        }
        match then {
            Then::Next => {}
            Then::Closes => return,
            // Until the other side goes.
            Then::Stays => while stream.read(&mut [0; 64]).await.is_ok_and(|count| count > 0) {},
        }
    }
}

async fn read(stream: &mut BufReader<TcpStream>) -> Option<Asked> {
    let (mut length, mut session, mut line) = (0, None, String::new());
    loop {
        line.clear();
        if stream.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        let Some((name, value)) = line.trim().split_once(": ") else {
            if line.trim().is_empty() {
                break;
            }
            continue;
        };
        match name {
            "content-length" => length = value.parse().ok()?,
            "mcp-session-id" => session = Some(value.to_owned()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    let message: Value = if length == 0 { json!({"method": "GET"}) } else { serde_json::from_slice(&body).ok()? };
    Some(Asked { method: message["method"].as_str().unwrap_or_default().to_owned(), session, message })
}
