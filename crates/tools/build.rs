//! Notes which versions of its main parts this program is built of: `adam-sys-audit` reports them.

use std::fs;

const LOCKFILE: &str = "../../Cargo.lock";

const PARTS: [&str; 9] =
    ["cap-std", "hyper", "jsonschema", "nvml-wrapper", "rmcp", "rustls", "sqlx", "sysinfo", "tokio"];

fn main() {
    println!("cargo::rerun-if-changed={LOCKFILE}");
    let lockfile = fs::read_to_string(LOCKFILE).unwrap_or_default();
    let components: Vec<String> = PARTS.iter().filter_map(|part| component(&lockfile, part)).collect();
    println!("cargo::rustc-env=COUNTERSIGN_COMPONENTS={}", components.join(" "));
}

fn component(lockfile: &str, part: &str) -> Option<String> {
    let package = lockfile.split("[[package]]").find(|package| package.contains(&format!("\nname = \"{part}\"\n")))?;
    let version = package.lines().find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'))?;
    Some(format!("{part}=={version}"))
}
