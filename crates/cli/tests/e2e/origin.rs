//! A web of our own, on loopback: pages that examples speak of, and the shared corpus's origin, which has every trick.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::{fs, thread};

use serde_json::Value;
use tempfile::TempDir;

/// Pages by URL, each served at its path on one port.
pub(crate) struct Pages {
    urls: Vec<&'static str>,
    address: SocketAddr,
}

impl Pages {
    /// Until the end of the process: nothing waits for it.
    pub(crate) fn serve(pages: &[(&'static str, &'static str)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let urls = pages.iter().map(|(url, _)| *url).collect();
        let pages = pages.to_vec();
        thread::spawn(move || listener.incoming().flatten().for_each(|stream| answer(&stream, &pages)));
        Self { urls, address }
    }

    /// The same input with our own address in place of the hosts.
    pub(crate) fn instead_of_the_web(&self, input: &Value) -> Value {
        let mut text = input.to_string();
        for url in &self.urls {
            let path = url.splitn(4, '/').nth(3).unwrap();
            text = text.replace(url, &format!("http://{}/{path}", self.address));
        }
        serde_json::from_str(&text).unwrap()
    }
}

fn answer(mut stream: &TcpStream, pages: &[(&str, &str)]) {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first).unwrap();
    let path = first.split(' ').nth(1).unwrap_or_default();
    let page = pages.iter().find(|(url, _)| url.splitn(4, '/').nth(3) == path.strip_prefix('/')).unwrap().1;
    let length = page.len();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all([head.as_bytes(), page.as_bytes()].concat().as_slice()).unwrap();
    // Until the other side has read it and closes.
    let _ = stream.read(&mut [0; 1024]);
}

/// The corpus's web origin and name server. Killed when dropped.
pub(crate) struct Origin {
    child: Child,
    pub(crate) port: u16,
    pub(crate) dns_port: u16,
    log: PathBuf,
    _folder: TempDir,
}

impl Origin {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("hits.jsonl");
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/origin_helper.py");
        let mut command = Command::new("python3");
        command.arg(script).arg("--log").arg(&log).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut said = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut said).unwrap();
        let numbers: Vec<u16> = said.split(' ').filter_map(|word| word.trim().parse().ok()).collect();
        let [port, dns_port] = numbers[..] else { panic!("no ports in {said:?}") };
        Self { child, port, dns_port, log, _folder: folder }
    }

    /// What was asked of it so far: requests, and questions about names.
    pub(crate) fn hits(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub(crate) fn requests(&self) -> Vec<Value> {
        self.hits().into_iter().filter(|hit| hit["path"].is_string()).collect()
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
