//! `kill -9` while three servers write one audit log, and records changed behind their back.

use std::fs;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::json;

use crate::env::{Server, TestEnv, stdout};
use crate::http::{Answer, read_all};

const SERVERS: usize = 3;

#[test]
fn the_audit_log_verifies_after_every_kill() {
    TestEnv::on_each_database().for_each(|env| verifies_after_kills(&env));
}

fn verifies_after_kills(env: &TestEnv) {
    let rounds = if std::env::var_os("COUNTERSIGN_LONG").is_some() { 200 } else { 36 };
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut records = 0;
    for round in 0..rounds {
        let servers: Vec<_> = (0..SERVERS).map(|_| env.serve()).collect();
        let load = Load::start(&servers);
        for server in servers {
            std::thread::sleep(Duration::from_millis(20 + random(&mut seed) % 120));
            server.kill();
        }
        assert!(load.stop() > 0, "round {round} made no calls");
        let verdict = env.json(&["audit", "verify", "--json"]);
        assert_eq!(verdict["verified"], json!(true), "round {round}: {verdict}");
        let found = verdict["records"].as_u64().unwrap();
        assert!(found >= records, "round {round}: {found} records, {records} before");
        records = found;
    }
    assert!(records > 1000, "only {records} records survived {} kills", rounds * SERVERS);
}

#[test]
fn one_changed_byte_in_the_database_is_found() {
    let env = TestEnv::new();
    for name in ["Ann", "Bob", "Cid"] {
        env.json(&["call", "hello", "--json", &format!("name={name}")]);
    }
    assert_eq!(env.json(&["audit", "verify", "--json"])["verified"], json!(true));
    let file = env.path(".countersign/countersign.db");
    let mut bytes = fs::read(&file).unwrap();
    let place = bytes.windows(7).position(|window| window == b"\"local\"").expect("a caller's name in a record");
    bytes[place + 1] = b'L';
    fs::write(&file, bytes).unwrap();
    let verify = env.run(&["audit", "verify"]);
    assert_eq!(verify.status.code(), Some(6));
    assert!(stdout(&verify).contains("changed"), "{}", stdout(&verify));
}

/// Calls all servers at once until it is stopped; they may die under it.
struct Load {
    stop: Arc<AtomicBool>,
    answered: Arc<AtomicU64>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Load {
    fn start(servers: &[Server]) -> Self {
        let (stop, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let threads = servers.iter().map(|server| {
            let (address, stop, answered) = (server.address, Arc::clone(&stop), Arc::clone(&answered));
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) && std::panic::catch_unwind(|| call(address)).unwrap_or(false) {
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            })
        });
        Self { threads: threads.collect(), stop, answered }
    }

    fn stop(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().unwrap();
        }
        self.answered.load(Ordering::Relaxed)
    }
}

fn call(address: SocketAddr) -> bool {
    use std::io::Write as _;
    let request = format!(
        "POST /mcp/tool/hello HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: 2\r\n\r\n{{}}"
    );
    let Ok(mut stream) = std::net::TcpStream::connect(address) else { return false };
    if stream.write_all(request.as_bytes()).is_err() {
        return false;
    }
    Answer::parse(&read_all(&mut stream)).is_some_and(|answer| answer.status == 200)
}

/// Reproducible; which moment is hit varies by itself.
fn random(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}
