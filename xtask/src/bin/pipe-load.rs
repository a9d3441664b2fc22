//! A client on a pipe that costs next to nothing, for answers so long that reading them as JSON would take longer than
//! sending them: `pipe-load` takes and prints what `mcpload --stdio` does. The first answer is read in full and must
//! contain the expected text; of all others the length must be the same.

use std::io::{BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use clap::Parser;
use serde_json::{Value, json};

/// Small enough to stay in the cache.
const BUFFER: usize = 128 * 1024;

/// Ids differ in length, and nothing else may.
const ID_DIGITS: usize = 10;

#[derive(Debug, Parser)]
struct Options {
    #[arg(long)]
    stdio: String,
    #[arg(long)]
    tool: String,
    #[arg(long)]
    args: String,
    #[arg(long)]
    expect: String,
    #[arg(long, value_delimiter = ',')]
    concurrency: Vec<u64>,
    #[arg(long)]
    duration: f64,
    #[arg(long)]
    warmup: u64,
    #[arg(long)]
    protocol: String,
    #[arg(long)]
    ready: u64,
    #[arg(long)]
    stderr: std::path::PathBuf,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The one who started it shows it.
            let _ = writeln!(std::io::stderr(), "{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> anyhow::Result<()> {
    let begun = Instant::now();
    let mut server = Server::start(options)?;
    let startup_init_ms = begun.elapsed().as_secs_f64() * 1000.0;
    let rss_idle_mb = server.resident_mb();
    for callers in &options.concurrency {
        server.load(*callers, Until::Answers(options.warmup))?;
        let (cpu, start) = (server.cpu_seconds()?, Instant::now());
        let mut times = server.load(*callers, Until::Time(start + Duration::from_secs_f64(options.duration)))?;
        let (took, cpu) = (start.elapsed().as_secs_f64(), server.cpu_seconds()? - cpu);
        times.sort_unstable();
        let at = |part: usize| times.get(times.len() * part / 100).map_or(f64::NAN, |time| time.as_secs_f64() * 1000.0);
        let answers = f64::from(u32::try_from(times.len())?);
        let line = json!({
            "concurrency": callers, "ok": times.len(), "errors": 0, "error_kinds": {},
            "rps": answers / took, "p50_ms": at(50), "p99_ms": at(99),
            "bytes_per_answer": server.length, "startup_init_ms": startup_init_ms, "rss_idle_mb": rss_idle_mb,
            "server_cpu_s": cpu,
        });
        writeln!(std::io::stdout(), "{line}")?;
    }
    server.child.kill()?;
    server.child.wait()?;
    Ok(())
}

#[derive(Clone, Copy)]
enum Until {
    Answers(u64),
    Time(Instant),
}

struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// A call up to its id, and after it.
    call: (String, String),
    next_id: u64,
    /// Of an answer that was looked at.
    length: usize,
}

impl Server {
    fn start(options: &Options) -> anyhow::Result<Self> {
        let said = std::fs::File::create(&options.stderr).context("cannot keep what the server says")?;
        let mut command = Command::new("sh");
        // In its own stead, so that the process is the server.
        command.arg("-c").arg(format!("exec {}", options.stdio));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(said);
        let mut child = command.spawn().context("cannot start the server")?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else { bail!("no pipes") };
        let arguments: Value = serde_json::from_str(&options.args).context("--args is not JSON")?;
        let params = json!({"name": options.tool, "arguments": arguments});
        let call =
            ("{\"jsonrpc\":\"2.0\",\"id\":".to_owned(), format!(",\"method\":\"tools/call\",\"params\":{params}}}\n"));
        let output = BufReader::with_capacity(BUFFER, output);
        let mut server = Self { child, input, output, call, next_id: 1, length: 0 };
        let client = json!({"name": "pipe-load", "version": "1"});
        let params = json!({"protocolVersion": options.protocol, "capabilities": {}, "clientInfo": client});
        let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        writeln!(server.input, "{initialize}")?;
        server.line()?;
        writeln!(server.input, "{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        server.send()?;
        let mut answer = Vec::new();
        std::io::BufRead::read_until(&mut server.output, b'\n', &mut answer)?;
        let value: Value = serde_json::from_slice(&answer).context("the answer is not JSON")?;
        if value["result"]["isError"] == json!(true) || !value["result"].to_string().contains(&options.expect) {
            bail!("another answer: {}", value.to_string().chars().take(300).collect::<String>());
        }
        server.length = answer.len();
        Ok(server)
    }

    /// With so many calls under way at any time; how long each took.
    fn load(&mut self, callers: u64, until: Until) -> anyhow::Result<Vec<Duration>> {
        let (mut times, mut sent) = (Vec::new(), std::collections::VecDeque::new());
        for _ in 0..callers {
            sent.push_back(Instant::now());
            self.send()?;
        }
        while let Some(at) = sent.pop_front() {
            let length = self.line()?;
            if length.abs_diff(self.length) > ID_DIGITS {
                bail!("an answer of {length} bytes, the first had {}", self.length);
            }
            times.push(at.elapsed());
            let more = match until {
                Until::Answers(count) => (times.len() + sent.len()) < usize::try_from(count)?,
                Until::Time(end) => Instant::now() < end,
            };
            if more {
                sent.push_back(Instant::now());
                self.send()?;
            }
        }
        Ok(times)
    }

    fn send(&mut self) -> anyhow::Result<()> {
        let id = self.next_id;
        self.next_id += 1;
        self.input.write_all(format!("{}{id}{}", self.call.0, self.call.1).as_bytes())?;
        Ok(())
    }

    /// The length of the next line.
    fn line(&mut self) -> anyhow::Result<usize> {
        let mut length = 0;
        loop {
            let available = std::io::BufRead::fill_buf(&mut self.output)?;
            if available.is_empty() {
                bail!("the server ended");
            }
            let end = memchr::memchr(b'\n', available);
            let taken = end.map_or(available.len(), |end| end + 1);
            std::io::BufRead::consume(&mut self.output, taken);
            length += taken;
            if end.is_some() {
                return Ok(length);
            }
        }
    }

    fn cpu_seconds(&self) -> anyhow::Result<f64> {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks: f64 = [11, 12].iter().filter_map(|at| fields.get(*at)?.parse::<f64>().ok()).sum();
        // The kernel counts in hundredths of a second.
        Ok(ticks / 100.0)
    }

    fn resident_mb(&self) -> f64 {
        let mut text = String::new();
        let read = std::fs::File::open(format!("/proc/{}/status", self.child.id()))
            .and_then(|mut file| file.read_to_string(&mut text));
        let line = read.ok().and_then(|_| text.lines().find_map(|line| line.strip_prefix("VmRSS:")));
        let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
        kilobytes.map_or(f64::NAN, |kilobytes| kilobytes / 1024.0)
    }
}
