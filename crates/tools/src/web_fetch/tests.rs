use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Mutex;

use countersign_contract::{Code, Tool as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::{Output, Web, WebFetch, WebSettings};

#[test]
fn the_output_reads_as_its_type_says() {
    let output = || Output {
        ok: true,
        status: 200,
        headers: [("a".to_owned(), "b".to_owned())].into(),
        content: "text".to_owned(),
        content_type: "text/plain".to_owned(),
        bytes: 4,
    };
    assert_eq!(WebFetch::to_value(output()).unwrap(), serde_json::to_value(output()).unwrap());
}

#[tokio::test]
async fn a_connection_serves_the_next_request_to_the_same_place() {
    let origin = Origin::start().await;
    let web = web(&[]);
    let (page, other) = (origin.url("127.0.0.1"), origin.url("localhost"));
    let fetching = async {
        for url in [&page, &page, &other, &page, &other] {
            assert_eq!(fetch(&web, url).await.unwrap().content, "hello", "{url}");
        }
        assert_eq!(origin.connections(), 2, "one for each name");
        // The server has had enough of the idle ones.
        origin.close_all();
        tokio::task::yield_now().await;
        assert_eq!(fetch(&web, &page).await.unwrap().content, "hello");
        assert_eq!(origin.connections(), 3);
    };
    tokio::select! {
        () = fetching => {}
        () = origin.serve(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello") => {}
    }
}

#[tokio::test]
async fn what_is_not_read_to_its_end_is_not_used_again() {
    let origin = Origin::start().await;
    let web = web(&[]);
    let page = origin.url("127.0.0.1");
    let fetching = async {
        for _ in 0..3 {
            assert_eq!(fetch(&web, &page).await.unwrap_err(), Code::UpstreamError);
        }
        assert_eq!(origin.connections(), 3);
    };
    tokio::select! {
        () = fetching => {}
        () = origin.serve(b"HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nnot ") => {}
    }
}

#[tokio::test]
async fn headers_are_a_map_of_texts() {
    let origin = Origin::start().await;
    let web = web(&[]);
    let page = origin.url("127.0.0.1");
    let fetching = async {
        let Output { headers, content_type, .. } = fetch(&web, &page).await.unwrap();
        let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let expected = [("content-length", "0"), ("x-latin", "caf\u{e9}"), ("x-twice", "a, b"), ("x-utf8", "café")];
        assert_eq!((headers, content_type.as_str()), (expected.to_vec(), ""));
    };
    let answer = b"HTTP/1.1 200 OK\r\nX-Twice: a\r\nx-latin: caf\xe9\r\nX-UTF8: caf\xc3\xa9\r\nx-twice: b\r\nContent-Length: 0\r\n\r\n";
    tokio::select! {
        () = fetching => {}
        () = origin.serve(answer) => {}
    }
}

/// Every address of the name is looked at, for each request anew.
#[tokio::test]
async fn a_name_that_moves_is_followed_nowhere() {
    let origin = Origin::start().await;
    // Nobody vouches for it any more, though a connection is still open.
    let web = web(&["127.0.0.1"]);
    let page = origin.url("localhost");
    let fetching = async {
        assert_eq!(fetch(&web, &page).await.unwrap_err(), Code::AccessDenied);
        web.replace(settings(&["localhost"]));
        assert_eq!(fetch(&web, &page).await.unwrap().content, "hello");
        web.replace(settings(&["127.0.0.1"]));
        assert_eq!(fetch(&web, &page).await.unwrap_err(), Code::AccessDenied);
        assert_eq!(origin.connections(), 1);
    };
    tokio::select! {
        () = fetching => {}
        () = origin.serve(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello") => {}
    }
}

async fn fetch(web: &Web, url: &str) -> Result<Output, Code> {
    let rules = web.rules.load_full();
    web.fetch(&rules, url).await.map_err(|failed| failed.into_rejection().code)
}

/// Both names of this machine, unless others are given.
fn web(private: &[&str]) -> Web {
    Web::new(settings(if private.is_empty() { &["127.0.0.1", "localhost"] } else { private }))
}

fn settings(private: &[&str]) -> WebSettings {
    let allow_private_hosts = private.iter().map(|host| host.parse().unwrap()).collect();
    WebSettings { allow_private_hosts, ..WebSettings::default() }
}

/// Answers every request on every connection with the same bytes.
struct Origin {
    listener: TcpListener,
    address: SocketAddr,
    open: Mutex<VecDeque<TcpStream>>,
    connections: Mutex<usize>,
}

impl Origin {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        Self { listener, address, open: Mutex::default(), connections: Mutex::default() }
    }

    fn url(&self, host: &str) -> String {
        format!("http://{host}:{}/page", self.address.port())
    }

    fn connections(&self) -> usize {
        *self.connections.lock().unwrap()
    }

    fn close_all(&self) {
        self.open.lock().unwrap().clear();
    }

    /// One connection after the other, as long as there is something to read on it.
    async fn serve(&self, answer: &[u8]) {
        loop {
            if let Ok(Ok((stream, _))) =
                tokio::time::timeout(std::time::Duration::from_millis(5), self.listener.accept()).await
            {
                *self.connections.lock().unwrap() += 1;
                self.open.lock().unwrap().push_back(stream);
            }
            let mut open: VecDeque<TcpStream> = std::mem::take(&mut *self.open.lock().unwrap());
            for stream in &mut open {
                let mut request = [0; 4096];
                let read = tokio::time::timeout(std::time::Duration::from_millis(5), stream.read(&mut request)).await;
                if matches!(read, Ok(Ok(1..))) {
                    stream.write_all(answer).await.unwrap();
                }
            }
            self.open.lock().unwrap().append(&mut open);
        }
    }
}
