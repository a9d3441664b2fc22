use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use http::HeaderMap;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::{Client, LOST_AFTER};
use crate::link::LinkError;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/// What a server does with the requests of one connection, one after the other.
#[derive(Clone, Copy)]
enum Manner {
    Answers,
    AnswersAndCloses,
    /// Reads the request and is gone.
    Closes,
}

/// Counts connections and requests, and keeps what it read.
#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    requests: Mutex<Vec<String>>,
}

impl Seen {
    fn counts(&self) -> (usize, usize) {
        (self.connections.load(Ordering::Relaxed), self.requests.lock().unwrap().len())
    }
}

/// The first connection is served in the first manner, and so on; all others in the last one.
async fn server(manners: &'static [Manner]) -> (String, Arc<Seen>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp?a=b", listener.local_addr().unwrap());
    let seen = Arc::new(Seen::default());
    let counted = Arc::clone(&seen);
    let serving = async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let number = counted.connections.fetch_add(1, Ordering::Relaxed);
            let manner = manners.get(number).or(manners.last()).copied().unwrap();
            serve(stream, manner, &counted).await;
        }
    };
    drop(tokio::task::spawn_local(serving));
    (url, seen)
}

async fn serve(mut stream: TcpStream, manner: Manner, seen: &Seen) {
    let mut buffer = vec![0; 4096];
    loop {
        let count = stream.read(&mut buffer).await.unwrap_or(0);
        if count == 0 {
            return;
        }
        seen.requests.lock().unwrap().push(String::from_utf8_lossy(&buffer[..count]).into_owned());
        match manner {
            Manner::Answers => stream.write_all(ANSWER).await.unwrap(),
            Manner::AnswersAndCloses => return stream.write_all(ANSWER).await.unwrap(),
            Manner::Closes => return,
        }
    }
}

async fn asked(client: &Client) -> Result<Vec<u8>, LinkError> {
    let mut response = client.post(HeaderMap::new(), b"{}".to_vec()).await?;
    let mut body = Vec::new();
    while let Some(piece) = response.next_piece().await? {
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

/// On one thread: a server that has closed a connection has done so when the client comes back.
fn on_one_thread(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, test);
}

#[test]
fn a_connection_serves_one_request_after_the_other() {
    on_one_thread(async {
        let (url, seen) = server(&[Manner::Answers]).await;
        let client = Client::new(&url, &mut HeaderMap::new()).unwrap();
        for _ in 0..3 {
            assert_eq!(asked(&client).await, Ok(b"ok".to_vec()));
        }
        assert_eq!(seen.counts(), (1, 3));
        let requests = seen.requests.lock().unwrap();
        let host = url.strip_prefix("http://").unwrap().strip_suffix("/mcp?a=b").unwrap();
        assert!(requests.iter().all(|request| request.starts_with("POST /mcp?a=b HTTP/1.1\r\n")), "{requests:?}");
        assert!(requests.iter().all(|request| request.contains(&format!("host: {host}\r\n"))), "{requests:?}");
    });
}

#[test]
fn what_was_closed_meanwhile_is_replaced() {
    on_one_thread(async {
        let (url, seen) = server(&[Manner::AnswersAndCloses, Manner::Answers]).await;
        let client = Client::new(&url, &mut HeaderMap::new()).unwrap();
        assert_eq!(asked(&client).await, Ok(b"ok".to_vec()));
        assert_eq!(asked(&client).await, Ok(b"ok".to_vec()));
        assert_eq!(seen.counts(), (2, 2));
    });
}

/// The server may have done what was asked: only whoever asked can know whether to ask again.
#[test]
fn what_was_sent_is_not_sent_again() {
    on_one_thread(async {
        let (url, seen) = server(&[Manner::Closes, Manner::Answers]).await;
        let client = Client::new(&url, &mut HeaderMap::new()).unwrap();
        assert!(matches!(asked(&client).await, Err(LinkError::Unreachable(_))));
        assert_eq!(seen.counts(), (1, 1));
        assert_eq!(asked(&client).await, Ok(b"ok".to_vec()));
    });
}

#[test]
fn who_does_not_read_to_the_end_hangs_up() {
    on_one_thread(async {
        let (url, seen) = server(&[Manner::Answers]).await;
        let client = Client::new(&url, &mut HeaderMap::new()).unwrap();
        drop(client.get(HeaderMap::new()).await.unwrap());
        assert_eq!(asked(&client).await, Ok(b"ok".to_vec()));
        assert_eq!(seen.counts(), (2, 2));
    });
}

#[test]
fn nobody_is_there_when_no_connection_was_possible_for_a_while() {
    on_one_thread(async {
        // No connection is possible to everybody at once.
        let client = Client::new("http://255.255.255.255:1/", &mut HeaderMap::new()).unwrap();
        for _ in 0..3 {
            assert!(matches!(asked(&client).await, Err(LinkError::Unreachable(_))));
        }
        *client.lost_since.lock().unwrap() = Instant::now().checked_sub(LOST_AFTER);
        assert!(matches!(asked(&client).await, Err(LinkError::Nobody(_))));
        let (url, _seen) = server(&[Manner::Answers]).await;
        let client = Client::new(&url, &mut HeaderMap::new()).unwrap();
        *client.lost_since.lock().unwrap() = Instant::now().checked_sub(LOST_AFTER);
        asked(&client).await.unwrap();
        assert!(client.lost_since.lock().unwrap().is_none());
    });
}

#[test]
fn a_name_in_the_url_becomes_a_header_unless_there_is_one() {
    let mut headers = HeaderMap::new();
    Client::new("http://a%40b:c@127.0.0.1:1/", &mut headers).unwrap();
    assert_eq!(headers["authorization"], "Basic YUBiOmM=");
    let mut headers = HeaderMap::from_iter([(http::header::AUTHORIZATION, "Bearer x".parse().unwrap())]);
    Client::new("http://a:c@127.0.0.1:1/", &mut headers).unwrap();
    assert_eq!(headers["authorization"], "Bearer x");
    assert!(Client::new("mailto:a@b", &mut HeaderMap::new()).is_err());
}
