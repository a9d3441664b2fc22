//! A language model of our own making behind `llm:`, which lies, rambles and obeys the wrong people.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use crate::env::wait_for;

/// What it answers to one question.
#[derive(Debug, Clone)]
pub(crate) enum Said {
    /// The message of a completion.
    Message(Value),
    /// A message that was cut off at the limit.
    CutOff(Value),
    /// A message, once it may speak.
    Later(Arc<AtomicBool>, Value),
    /// Anything else.
    Raw(u16, String),
    /// So many bytes that no completion has.
    Endless,
    HangUp,
}

/// Says what it is told to, in order, and keeps what it was asked.
pub(crate) struct Model {
    pub(crate) address: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    script: VecDeque<Said>,
    asked: Vec<Value>,
}

impl Model {
    /// Until the end of the process: nothing waits for it.
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        thread::spawn(move || listener.incoming().flatten().for_each(|stream| answer(&stream, &shared)));
        Self { address, state }
    }

    pub(crate) fn config(&self) -> Value {
        json!({"url": format!("http://{}/v1", self.address), "model": "scripted", "api_key": KEY})
    }

    /// What comes next; what was asked before is forgotten.
    pub(crate) fn says(&self, script: &[Said]) {
        let mut state = self.state.lock().unwrap();
        *state = State { script: script.iter().cloned().collect(), asked: Vec::new() };
    }

    pub(crate) fn asked(&self) -> Vec<Value> {
        self.state.lock().unwrap().asked.clone()
    }
}

pub(crate) const KEY: &str = "sk-never-to-be-seen";

/// A message that is kept back until the flag is set.
pub(crate) fn later(said: Said) -> (Said, Arc<AtomicBool>) {
    let Said::Message(message) = said else { panic!("no message: {said:?}") };
    let may_speak = Arc::new(AtomicBool::new(false));
    (Said::Later(Arc::clone(&may_speak), message), may_speak)
}

/// A message with these calls; arguments are texts, as the protocol has them.
pub(crate) fn calls(calls: &[(&str, &str)]) -> Said {
    let calls = calls.iter().enumerate().map(|(at, (name, arguments))| {
        json!({"id": format!("c{at}"), "type": "function", "function": {"name": name, "arguments": arguments}})
    });
    Said::Message(json!({"role": "assistant", "content": null, "tool_calls": calls.collect::<Vec<_>>()}))
}

pub(crate) fn words(text: &str) -> Said {
    Said::Message(json!({"role": "assistant", "content": text}))
}

pub(crate) fn bullets(bullets: &[(&str, &str)]) -> Said {
    let bullets: Vec<_> =
        bullets.iter().map(|(claim, evidence)| json!({"claim": claim, "evidence": evidence})).collect();
    words(&json!({"bullets": bullets}).to_string())
}

fn answer(mut stream: &TcpStream, state: &Mutex<State>) {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or_default() == 0 {
            return;
        }
        let line = line.trim().to_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let said = {
        let mut state = state.lock().unwrap();
        state.asked.push(serde_json::from_slice(&body).unwrap());
        state.script.pop_front().unwrap_or_else(|| words("I was not told what to say."))
    };
    let completion = |message: &Value, reason: &str| {
        json!({"choices": [{"index": 0, "message": message, "finish_reason": reason}]}).to_string()
    };
    let (status, body) = match said {
        Said::Message(message) => (200, completion(&message, "stop")),
        Said::Later(may_speak, message) => {
            wait_for("leave to speak", || may_speak.load(Ordering::Relaxed).then_some(()));
            (200, completion(&message, "stop"))
        }
        Said::CutOff(message) => (200, completion(&message, "length")),
        Said::Raw(status, body) => (status, body),
        Said::Endless => (200, "word ".repeat(400_000)),
        Said::HangUp => return,
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nLocation: http://127.0.0.1:1/\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    // Whoever had enough hangs up.
    let _ = stream.write_all([head.as_bytes(), body.as_bytes()].concat().as_slice());
}
