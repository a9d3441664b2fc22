//! One question to a server of ours.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context as _, bail};

/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// The body of one answer. HTTP/1.0, so that it ends with the connection and is not cut into chunks.
pub(crate) fn get(server: SocketAddr, path: &str) -> anyhow::Result<String> {
    let mut answer = String::new();
    let mut stream = TcpStream::connect_timeout(&server, PATIENCE).context("cannot connect")?;
    stream.set_read_timeout(Some(PATIENCE)).context("cannot set a timeout")?;
    let request = format!("GET {path} HTTP/1.0\r\nHost: {server}\r\n\r\n");
    stream.write_all(request.as_bytes()).context("cannot ask")?;
    stream.read_to_string(&mut answer).with_context(|| format!("cannot read the answer to GET {path}"))?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((answer.as_str(), ""));
    let status = head.lines().next().unwrap_or_default();
    if status.split(' ').nth(1) != Some("200") {
        bail!("GET {path} answered `{status}`");
    }
    Ok(body.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;

    #[test]
    fn an_answer_is_read_to_its_end() {
        assert_eq!(ask("HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\n{}").unwrap(), "{}");
        let err = ask("HTTP/1.0 404 Not Found\r\n\r\n").unwrap_err();
        assert_eq!(err.to_string(), "GET /openapi.json answered `HTTP/1.0 404 Not Found`");
    }

    fn ask(answer: &'static str) -> anyhow::Result<String> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            let _ = stream.read(&mut request).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
        });
        let body = get(address, "/openapi.json");
        server.join().unwrap();
        body
    }
}
