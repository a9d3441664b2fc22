//! `cargo xtask bench fetch`: one page of 100 KB from loopback, fetched over MCP on stdio, against the reference server.
//!
//! The reference is asked for the page as it is (`raw`): to make Markdown of it takes far longer, and is not what ours does.
//! Countersign keeps its log and its audit log, as it is shipped, and sends the page twice, as text and as structured content.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::thread;

use anyhow::{Context as _, bail};
use serde_json::json;

use super::files::line;
use super::hello::quoted;
use super::load::{Loader, Sample};
use super::report::{Report, Server, Target};
use super::{Contender, Measured, Options, Question, Scene, Wire, in_turns};
use crate::Verdict;
use crate::programs::Python;
use crate::workspace::{Profile, Workspace};

const REFERENCE: &str = "mcp-server-fetch";
const OURS: &str = "Countersign";

const CALLERS: &[u32] = &[1, 16];

const PAGE_BYTES: usize = 100 * 1024;

/// In the page's first line.
const MARK: &str = "A page of a hundred kilobytes";

const TIMES: f64 = 50.0;

pub(super) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<Verdict> {
    let loader = Loader::build(workspace, options.loader.as_deref())?;
    let python = Python::set_up(workspace).context("no programs from Python")?;
    let countersign = workspace.build("countersign", "countersign", Profile::Release)?;
    let origin = serve_page().context("cannot serve the page")?;
    let url = format!("http://{origin}/page.html");
    let mut reference = python.program(REFERENCE);
    reference.args(["--ignore-robots-txt", "--allow-private-ips"]);
    let (reference, whole) = (line(&reference), json!({"url": url, "raw": true, "max_length": 999_999}).to_string());
    let page = json!({"url": url}).to_string();
    let contenders = [
        Contender {
            name: REFERENCE,
            question: question("fetch", &whole, 20),
            prepare: Box::new(|_| Ok(reference.clone())),
        },
        Contender {
            name: OURS,
            question: question("web-fetch", &page, 1000),
            prepare: Box::new(|scene| serve(&countersign, scene)),
        },
    ];
    let measured = in_turns(&loader, &contenders, options)?;
    check(&measured)?;
    let mut report = Report::new("fetch", options, CALLERS, &measured);
    let ratio = report.server(OURS).map_or(f64::NAN, Server::worst_rps_ratio);
    report.targets = vec![Target::at_least("requests a second × mcp-server-fetch", ratio, TIMES)];
    report.print(options)?;
    Ok(report.verdict())
}

fn question<'a>(tool: &'static str, arguments: &'a str, warmup: u32) -> Question<'a> {
    Question { wire: Wire::ToolOverStdio { tool, arguments, expected: MARK }, callers: CALLERS, warmup }
}

/// The command line of Countersign, which may fetch from this machine.
fn serve(binary: &Path, scene: &Scene<'_>) -> anyhow::Result<String> {
    let file = scene.folder.join("countersign.yaml");
    let keys = format!("data_dir: {}/data\nweb_fetch: {{allow_private_hosts: [127.0.0.1]}}\n", scene.folder.display());
    fs::write(&file, keys).context("cannot write the configuration")?;
    Ok(format!("{} mcp --config {}", quoted(binary), quoted(&file)))
}

/// A server that sends less has less to do.
fn check(measured: &[Measured]) -> anyhow::Result<()> {
    for Measured { name, samples } in measured {
        let least = if *name == OURS { 2 * PAGE_BYTES } else { PAGE_BYTES };
        let whole = |sample: &Sample| sample.bytes_per_answer >= f64::from(u32::try_from(least).unwrap_or(u32::MAX));
        if samples.is_empty() || !samples.iter().all(whole) {
            bail!("`{name}` did not always send the whole page");
        }
    }
    Ok(())
}

/// Serves the page at every path, on as many connections as anybody wants, until the process ends.
fn serve_page() -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?;
    let page = page();
    let head =
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\r\n", page.len());
    let answer: Arc<[u8]> = [head, page].concat().into_bytes().into();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = Arc::clone(&answer);
            // Whoever asks goes away in the end, one way or another.
            thread::spawn(move || drop(answer_all(stream, &answer)));
        }
    });
    Ok(address)
}

fn answer_all(mut stream: TcpStream, answer: &[u8]) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut request, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let length = stream.read(&mut buffer)?;
        if length == 0 {
            return Ok(());
        }
        request.extend_from_slice(buffer.get(..length).unwrap_or_default());
        if request.ends_with(b"\r\n\r\n") {
            request.clear();
            stream.write_all(answer)?;
        }
    }
}

fn page() -> String {
    let mut page = format!("<!doctype html>\n<html lang=\"en\"><head><title>{MARK}</title></head><body>\n");
    for paragraph in 0.. {
        let more = format!(
            "<p class=\"text\">Paragraph {paragraph:05} of a page that both servers fetch, again and again.</p>\n"
        );
        if page.len() + more.len() > PAGE_BYTES {
            break;
        }
        page.push_str(&more);
    }
    page.push_str(&" ".repeat(PAGE_BYTES - page.len()));
    page
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpStream;

    use super::{MARK, PAGE_BYTES, page, serve_page};

    #[test]
    fn the_page_has_its_size_and_is_served_again_and_again() {
        let page = page();
        assert!(page.len() == PAGE_BYTES && page.is_ascii() && page.contains(MARK));
        let mut stream = TcpStream::connect(serve_page().unwrap()).unwrap();
        let mut answers = Vec::new();
        for _ in 0..2 {
            stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
            let mut answer = vec![0; PAGE_BYTES];
            stream.read_exact(&mut answer).unwrap();
            assert!(answer.starts_with(b"HTTP/1.1 200 OK\r\n"));
            let end = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
            stream.read_exact(&mut vec![0; end]).unwrap();
            answers.push(answer);
        }
        assert_eq!(answers[0], answers[1]);
    }
}
