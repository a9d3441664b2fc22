//! What an upstream program may do on this machine. The program's own process takes this upon itself, just before it
//! becomes the program: limits that every one has, and Landlock where the operator wants a sandbox.
//!
//! A sandbox that the kernel cannot enforce is not left out: then the program does not start.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus, Scope,
};
use rustix::process::{Resource, Rlimit, Signal};
use serde::{Deserialize, Serialize};

/// The hidden command that runs this.
pub const ENTER: &str = "enter";

/// What programs need that is nobody's: without it none starts.
const SYSTEM: [&str; 10] =
    ["/bin", "/etc", "/lib", "/lib32", "/lib64", "/opt", "/proc", "/sbin", "/usr", "/run/systemd/resolve"];
const DEVICES: [&str; 5] = ["/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero"];

/// Memory that it can write to. It says nothing of what is only reserved, as some runtimes do by the terabyte.
const DATA_MAX: u64 = 8 << 30;
const FILES_MAX: u64 = 4096;

/// The revision of Landlock that knows TCP.
const KNOWN: ABI = ABI::V4;

/// Folders and files that a program may use, and whether it may use the network. Everything else is closed to it, but
/// for what programs need to start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sandbox {
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
    pub network: bool,
}

/// Becomes the program. Answers only if that fails.
pub fn enter(sandbox: &str, command: &[OsString]) -> io::Error {
    match confine(sandbox) {
        Ok(()) => {}
        Err(error) => return error,
    }
    let Some((program, args)) = command.split_first() else { return io::Error::other("no program") };
    let error = Command::new(program).args(args).exec();
    io::Error::other(format!("`{}` cannot be started: {error}", program.display()))
}

fn confine(sandbox: &str) -> io::Result<()> {
    let parent = rustix::process::getppid();
    // Whatever becomes of the supervisor, the program does not outlive it.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    if rustix::process::getppid() != parent {
        return Err(io::Error::other("nobody waits for the program any more"));
    }
    for (resource, most) in [(Resource::Core, 0), (Resource::Nofile, FILES_MAX), (Resource::Data, DATA_MAX)] {
        limit(resource, most)?;
    }
    match serde_json::from_str::<Option<Sandbox>>(sandbox)? {
        Some(sandbox) => close(&sandbox),
        None => Ok(()),
    }
}

/// Never more than there is already.
fn limit(resource: Resource, most: u64) -> io::Result<()> {
    let now = rustix::process::getrlimit(resource);
    let least = |limit: Option<u64>| Some(limit.map_or(most, |limit| limit.min(most)));
    let limits = Rlimit { current: least(now.current), maximum: least(now.maximum) };
    Ok(rustix::process::setrlimit(resource, limits)?)
}

fn close(sandbox: &Sandbox) -> io::Result<()> {
    let refused = |error: &dyn std::fmt::Display| io::Error::other(format!("the sandbox cannot be closed: {error}"));
    let mut ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    ruleset = ruleset.handle_access(AccessFs::from_all(KNOWN)).map_err(|error| refused(&error))?;
    if !sandbox.network {
        ruleset = ruleset.handle_access(AccessNet::from_all(KNOWN)).map_err(|error| refused(&error))?;
    }
    // Newer than the rest: nobody outside can be signalled, our supervisor included.
    ruleset = ruleset.set_compatibility(CompatLevel::BestEffort);
    ruleset = ruleset.scope(Scope::Signal).map_err(|error| refused(&error))?;
    let mut created = ruleset.create().map_err(|error| refused(&error))?;
    let system = SYSTEM.iter().map(|path| (PathBuf::from(path), AccessFs::from_read(KNOWN), false));
    let devices = DEVICES.iter().map(|path| (PathBuf::from(path), AccessFs::ReadFile | AccessFs::WriteFile, false));
    let read = sandbox.read.iter().map(|path| (path.clone(), AccessFs::from_read(KNOWN), true));
    let write = sandbox.write.iter().map(|path| (path.clone(), AccessFs::from_all(KNOWN), true));
    for (path, access, wanted) in system.chain(devices).chain(read).chain(write) {
        match PathFd::new(&path) {
            Ok(opened) => {
                let access = if path.is_dir() { access } else { access & of_files() };
                created = created.add_rule(PathBeneath::new(opened, access)).map_err(|error| refused(&error))?;
            }
            Err(error) if wanted => return Err(refused(&error)),
            // Not every system has all of them.
            Err(_) => {}
        }
    }
    let status = created.restrict_self().map_err(|error| refused(&error))?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err(refused(&"this kernel has no Landlock"));
    }
    Ok(())
}

/// What can be said of a single file.
fn of_files() -> BitFlags<AccessFs> {
    AccessFs::from_file(KNOWN)
}
