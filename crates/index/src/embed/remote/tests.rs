use std::net::SocketAddr;
use std::time::Duration;

use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

use super::{Remote, batches};
use crate::embed::{EmbedError, Embedder as _};
use crate::endpoint::{Patience, Service};

const KEY: &str = "sk-very-secret";

/// As ours, but in milliseconds.
const PATIENCE: Patience = Patience {
    tries: 4,
    first_pause: Duration::from_millis(2),
    longest_pause: Duration::from_millis(20),
    one_try: Duration::from_secs(20),
    all_tries: Duration::from_secs(40),
};

#[tokio::test]
async fn vectors_come_in_the_order_of_the_texts_and_with_length_1() {
    let answer = json!({"data": [{"index": 1, "embedding": [0.0, 2.0]}, {"index": 0, "embedding": [3.0, 4.0]}]});
    let (vectors, asked) = ask(&[reply(200, &answer)], &["a", "b"]).await;
    assert_eq!(vectors.unwrap(), [[0.6, 0.8], [0.0, 1.0]]);
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].line, "POST /v1/embeddings HTTP/1.1");
    assert_eq!(asked[0].authorization, format!("Bearer {KEY}"));
    assert_eq!(asked[0].body, json!({"model": "test-model", "input": ["a", "b"]}));
}

#[tokio::test]
async fn many_texts_go_in_several_requests_and_an_empty_one_is_not_sent_as_such() {
    let texts: Vec<String> = (0..130).map(|n| if n == 129 { String::new() } else { n.to_string() }).collect();
    let answers: Vec<Answer> = [64, 64, 2].map(|count| reply(200, &vectors(count))).into();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (vectors, asked) = ask(&answers, &texts).await;
    assert_eq!(vectors.unwrap().len(), 130);
    let counts: Vec<usize> = asked.iter().map(|asked| asked.body["input"].as_array().unwrap().len()).collect();
    assert_eq!(counts, [64, 64, 2]);
    assert_eq!(asked[2].body["input"], json!(["128", " "]));
}

#[test]
fn a_request_is_bounded_in_bytes_and_a_long_text_goes_alone() {
    let texts = [60_000, 30_000, 20_000, 200_000, 1].map(|length| "x".repeat(length));
    let counts: Vec<usize> = batches(&texts).into_iter().map(<[String]>::len).collect();
    assert_eq!(counts, [2, 1, 1, 1]);
    assert!(batches(&[]).is_empty());
}

#[tokio::test]
async fn what_passes_is_tried_again() {
    let busy = reply(429, &json!({})).with("Retry-After: 0\r\n");
    let (vectors, asked) = ask(&[busy, reply(503, &json!({})), Answer::HangUp, reply(200, &vectors(1))], &["a"]).await;
    assert_eq!((vectors.unwrap().len(), asked.len()), (1, 4));
}

#[tokio::test]
async fn after_four_tries_it_is_over() {
    // The service asks for an hour; the longest pause is shorter.
    let busy = reply(429, &json!({})).with("Retry-After: 3600\r\n");
    let answers = vec![busy; 5];
    let (vectors, asked) = ask(&answers, &["a"]).await;
    assert_eq!(words(vectors), "the embedding service answered 429 Too Many Requests, tried four times");
    assert_eq!(asked.len(), 4);
}

#[tokio::test]
async fn what_does_not_pass_is_not_tried_again() {
    let leak = json!({"error": {"message": format!("Incorrect API key provided: {KEY}")}});
    let long = json!({"error": {"message": "this model takes 512 tokens\nat most"}});
    for (answer, expected) in [
        (reply(401, &leak), "answered 401 Unauthorized: the key may be missing or wrong"),
        (reply(403, &leak), "answered 403 Forbidden: the key may be missing or wrong"),
        (reply(400, &long), "answered 400 Bad Request: this model takes 512 tokens at most"),
        (reply(404, &json!("no")), "answered 404 Not Found"),
        (reply(307, &json!({})).with("Location: /v1/elsewhere\r\n"), "answered 307 Temporary Redirect"),
        (reply(200, &json!({"data": "none"})), "gave an answer that is not one of embeddings"),
        (reply(200, &vectors(1)), "gave 1 vectors for 2 texts"),
        (reply(200, &vectors(3)), "gave 3 vectors for 2 texts"),
        (reply(200, &items(&[(0, &[1.0]), (0, &[1.0])])), "gave 2 vectors for 2 texts, but not one for each"),
        (reply(200, &items(&[(0, &[1.0]), (1, &[0.0])])), "gave a vector without direction"),
        (reply(200, &items(&[(0, &[1.0]), (1, &[])])), "gave a vector without direction"),
        (reply(200, &items(&[(0, &[1.0, 0.0]), (1, &[1.0])])), "gave a vector of 1 dimensions after one of 2"),
    ] {
        let (vectors, asked) = ask(&[answer], &["a", "b"]).await;
        assert_eq!(words(vectors), format!("the embedding service {expected}"));
        assert_eq!(asked.len(), 1, "{expected}");
    }
}

#[tokio::test]
async fn an_answer_that_is_no_json_is_an_error() {
    let page = Answer::Reply { status: 200, headers: String::new(), body: "<html>welcome</html>".to_owned() };
    let (vectors, _) = ask(&[page], &["a"]).await;
    assert_eq!(words(vectors), "the embedding service gave an answer that is not one of embeddings");
}

#[tokio::test]
async fn the_first_answer_decides_the_dimensions() {
    let server = Server::start().await;
    let remote = Remote::with(server.service(), PATIENCE).unwrap();
    assert_eq!(remote.dimensions(), None);
    let texts = ["a".to_owned()];
    let ask = async {
        remote.embed(&texts).await.unwrap();
        assert_eq!(remote.dimensions(), Some(2));
        words(remote.embed(&texts).await)
    };
    let serve = async {
        server.answer(&reply(200, &items(&[(0, &[1.0, 0.0])]))).await;
        server.answer(&reply(200, &items(&[(0, &[1.0, 0.0, 0.0])]))).await;
    };
    let (said, ()) = tokio::join!(ask, serve);
    assert_eq!(said, "the embedding service gave a vector of 3 dimensions after one of 2");
    assert_eq!(remote.dimensions(), Some(2));
}

#[tokio::test]
async fn a_silent_service_is_not_waited_for_beyond_the_deadline() {
    let server = Server::start().await;
    let brief = Patience { one_try: Duration::from_millis(40), all_tries: Duration::from_millis(60), ..PATIENCE };
    let remote = Remote::with(server.service(), brief).unwrap();
    let texts = ["a".to_owned()];
    let said = tokio::select! {
        embedded = remote.embed(&texts) => words(embedded),
        () = server.keep_silent() => unreachable!(),
    };
    assert!(said.starts_with("the embedding service did not answer in time"), "{said}");
}

#[tokio::test]
async fn nobody_there_is_said_so() {
    let server = Server::start().await;
    let service = server.service();
    drop(server);
    let remote = Remote::with(service, PATIENCE).unwrap();
    let said = words(remote.embed(&["a".to_owned()]).await);
    assert!(said.starts_with("the embedding service cannot be reached: "), "{said}");
    assert!(said.ends_with(", tried four times"), "{said}");
}

#[test]
fn what_cannot_work_is_refused_at_once_and_nothing_shows_the_key() {
    let service = |url: &str, key: &str| Service {
        url: Url::parse(url).unwrap(),
        model: "test-model".to_owned(),
        key: Some(SecretString::from(key.to_owned())),
    };
    for (url, key, expected) in [
        ("file:///v1", KEY, "the URL of the embedding service must start with `https://` or `http://`"),
        ("https://me:pass@localhost/v1", KEY, "the URL of the embedding service must not hold a password"),
        ("https://localhost/v1", "a\nb", "the key for the embedding service has characters no key can have"),
    ] {
        assert_eq!(Remote::new(service(url, key)).unwrap_err().to_string(), expected);
    }
    let service = service("https://localhost:8080/v1/", KEY);
    assert!(!format!("{service:?}").contains(KEY));
    let remote = Remote::new(service).unwrap();
    assert_eq!(remote.model(), "localhost:8080/v1/test-model");
    assert!(!format!("{remote:?}").contains(KEY));
}

fn words(embedded: Result<Vec<Vec<f32>>, EmbedError>) -> String {
    embedded.unwrap_err().to_string()
}

fn vectors(count: usize) -> Value {
    items(&(0..count).map(|index| (index, &[1.0, 0.0][..])).collect::<Vec<_>>())
}

fn items(items: &[(usize, &[f32])]) -> Value {
    let data = items.iter().map(|(index, embedding)| json!({"index": index, "embedding": embedding}));
    json!({"data": data.collect::<Vec<_>>()})
}

#[derive(Clone)]
enum Answer {
    Reply { status: u16, headers: String, body: String },
    HangUp,
}

fn reply(status: u16, body: &Value) -> Answer {
    Answer::Reply { status, headers: String::new(), body: body.to_string() }
}

impl Answer {
    fn with(mut self, header: &str) -> Self {
        if let Self::Reply { headers, .. } = &mut self {
            headers.push_str(header);
        }
        self
    }
}

struct Asked {
    line: String,
    authorization: String,
    body: Value,
}

/// What comes of it, and what the service was asked for until then.
async fn ask(answers: &[Answer], texts: &[&str]) -> (Result<Vec<Vec<f32>>, EmbedError>, Vec<Asked>) {
    let server = Server::start().await;
    let remote = Remote::with(server.service(), PATIENCE).unwrap();
    let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    let mut asked = Vec::new();
    let serve = async {
        for answer in answers {
            asked.push(server.answer(answer).await);
        }
        std::future::pending::<()>().await;
    };
    let embedded = tokio::select! {
        embedded = remote.embed(&texts) => embedded,
        () = serve => unreachable!(),
    };
    (embedded, asked)
}

struct Server {
    listener: TcpListener,
    address: SocketAddr,
}

impl Server {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        Self { listener, address }
    }

    fn service(&self) -> Service {
        Service {
            url: Url::parse(&format!("http://{}/v1", self.address)).unwrap(),
            model: "test-model".to_owned(),
            key: Some(SecretString::from(KEY.to_owned())),
        }
    }

    /// One request on a connection of its own.
    async fn answer(&self, answer: &Answer) -> Asked {
        let (mut stream, _) = self.listener.accept().await.unwrap();
        let asked = read(&mut stream).await;
        if let Answer::Reply { status, headers, body } = answer {
            let length = body.len();
            let head = format!("HTTP/1.1 {status} X\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n");
            stream.write_all(head.as_bytes()).await.unwrap();
            stream.write_all(body.as_bytes()).await.unwrap();
        }
        asked
    }

    async fn keep_silent(&self) {
        let mut open = Vec::new();
        loop {
            open.push(self.listener.accept().await.unwrap());
        }
    }
}

async fn read(stream: &mut TcpStream) -> Asked {
    let mut bytes = Vec::new();
    loop {
        stream.read_buf(&mut bytes).await.unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let header = |wanted: &str| {
            let lines = head.lines().filter_map(|line| line.split_once(": "));
            lines.filter(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.to_owned()).next()
        };
        let length: usize = header("content-length").unwrap().parse().unwrap();
        if body.len() >= length {
            let line = head.lines().next().unwrap().to_owned();
            let authorization = header("authorization").unwrap_or_default();
            return Asked { line, authorization, body: serde_json::from_str(body).unwrap() };
        }
    }
}
