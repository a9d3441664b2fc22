//! Operating system, interpreters and common tools, our own parts, and the Python packages that were asked for.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use futures_util::StreamExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sysinfo::System;

use super::SystemAudit;
use super::helper::ask;

/// What is looked for, and how each says its version.
const PROGRAMS: [(&str, &str); 23] = [
    ("bash", "--version"),
    ("bun", "--version"),
    ("cargo", "--version"),
    ("clang", "--version"),
    ("cmake", "--version"),
    ("curl", "--version"),
    ("deno", "--version"),
    ("docker", "--version"),
    ("gcc", "--version"),
    ("git", "--version"),
    ("go", "version"),
    ("java", "--version"),
    ("make", "--version"),
    ("node", "--version"),
    ("openssl", "version"),
    ("perl", "--version"),
    ("php", "--version"),
    ("podman", "--version"),
    ("psql", "--version"),
    ("ruby", "--version"),
    ("rustc", "--version"),
    ("sqlite3", "--version"),
    ("uv", "--version"),
];

const PYTHONS: [&str; 2] = ["python3", "python"];

/// Its own version, and those of the packages it is given as arguments.
const PYTHON_SCRIPT: &str = "\
import platform, sys
print('python==' + platform.python_version())
from importlib.metadata import version
for name in sys.argv[1:]:
    try:
        print(name + '==' + version(name))
    except Exception:
        pass
";

/// At a time.
const MAX_ASKED: usize = 8;

/// Programs of one name that are tried.
const MAX_CANDIDATES: usize = 4;

const MAX_VERSION_BYTES: usize = 64;

/// The main parts of this program, as it was built: `name==version` each.
const COMPONENTS: &str = env!("COUNTERSIGN_COMPONENTS");

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
// What is not known is null, not absent.
#[schemars(extend("required" = ["os_version", "kernel", "python_version", "packages"]))]
pub(crate) struct Software {
    /// `list_software`: name and version of the operating system
    pub(super) os_version: String,
    /// `list_software`: the kernel's release
    pub(super) kernel: String,
    /// `list_software`: null where there is no Python
    pub(super) python_version: Option<String>,
    /// `list_software`: our own components, interpreters, common tools and configured Python packages, as `name==version`
    #[schemars(inner(regex(pattern = r"^[^=\s]+==[^=\s]+$")))]
    pub(super) packages: Vec<String>,
}

pub(super) async fn look(about: &SystemAudit) -> Software {
    let (programs, pythons) = find_all(about.search_path.clone()).await;
    let search_path = std::env::join_paths(&about.search_path).unwrap_or_default();
    let asked = programs.into_iter().map(|found| version_of(found, &search_path));
    let found: Vec<_> = futures_util::stream::iter(asked).buffer_unordered(MAX_ASKED).collect().await;
    let mut packages: BTreeSet<String> = COMPONENTS.split(' ').map(str::to_owned).collect();
    packages.insert(concat!("countersign==", env!("CARGO_PKG_VERSION")).to_owned());
    packages.extend(found.into_iter().flatten());
    let mut python_version = None;
    if let Some((version, found)) = ask_python(&pythons, &about.packages, &search_path).await {
        packages.insert(format!("python=={version}"));
        packages.extend(found);
        python_version = Some(version);
    }
    Software {
        os_version: os_version(),
        kernel: System::kernel_version().unwrap_or_else(|_| "unknown".to_owned()),
        python_version,
        packages: packages.into_iter().collect(),
    }
}

/// A program, where it may be, and what to ask it.
struct Candidates {
    name: &'static str,
    argument: &'static str,
    files: Vec<PathBuf>,
}

/// The programs that are there, and the Pythons. Looking for files can block.
async fn find_all(search_path: Vec<PathBuf>) -> (Vec<Candidates>, Vec<PathBuf>) {
    let finding = tokio::task::spawn_blocking(move || {
        let programs = PROGRAMS.into_iter().map(|(name, argument)| {
            let files = find(name, &search_path);
            Candidates { name, argument, files }
        });
        let pythons = PYTHONS.into_iter().flat_map(|name| find(name, &search_path)).collect();
        (programs.filter(|program| !program.files.is_empty()).collect(), pythons)
    });
    finding.await.unwrap_or_default()
}

fn find(name: &str, search_path: &[PathBuf]) -> Vec<PathBuf> {
    let files = search_path.iter().map(|folder| folder.join(name)).filter(|file| file.is_file());
    files.take(MAX_CANDIDATES).collect()
}

/// The first that answers counts: a name can stand for a wrapper that does not work without its user's settings.
async fn version_of(program: Candidates, search_path: &OsStr) -> Option<String> {
    for file in &program.files {
        let answer = ask(file, &[program.argument], search_path).await;
        if let Some(version) = answer.as_deref().and_then(version_in) {
            return Some(format!("{}=={version}", program.name));
        }
    }
    None
}

/// The version of the first Python that answers, and the packages it has.
async fn ask_python(files: &[PathBuf], packages: &[String], search_path: &OsStr) -> Option<(String, Vec<String>)> {
    // Isolated: neither the current folder nor the user's own modules are imported.
    let options = ["-I", "-B", "-c", PYTHON_SCRIPT].map(OsString::from);
    let arguments: Vec<OsString> = options.into_iter().chain(packages.iter().map(OsString::from)).collect();
    for file in files {
        let Some(answer) = ask(file, &arguments, search_path).await else { continue };
        let mut versions = answer.lines().filter_map(|line| line.trim().split_once("=="));
        let Some((_, version)) = versions.next().filter(|(name, version)| *name == "python" && is_version(version))
        else {
            continue;
        };
        let found = versions.filter(|(name, version)| packages.iter().any(|one| one == name) && is_version(version));
        return Some((version.to_owned(), found.map(|(name, version)| format!("{name}=={version}")).collect()));
    }
    None
}

/// The first number with a dot in it, and what belongs to it. What stands in brackets often is the version of something
/// else, and counts only where a line has no other.
fn version_in(answer: &str) -> Option<String> {
    answer.lines().find_map(|line| first_version(&without_brackets(line)).or_else(|| first_version(line)))
}

fn first_version(text: &str) -> Option<String> {
    let words = text.split(|character: char| !is_version_character(character));
    words.map(|word| word.trim_start_matches(|character: char| !character.is_ascii_digit())).find_map(|word| {
        let number = word.split(|character: char| !character.is_ascii_digit()).next()?;
        let dotted =
            word[number.len()..].strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        (dotted && is_version(word)).then(|| word.trim_end_matches(['.', '-', '+']).to_owned())
    })
}

fn without_brackets(line: &str) -> String {
    let mut depth = 0_u32;
    let keep = |character: char| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => return character,
            _ => {}
        }
        ' '
    };
    line.chars().map(keep).collect()
}

fn is_version(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_VERSION_BYTES && text.chars().all(is_version_character)
}

fn is_version_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '.' | '-' | '+' | '!' | '_' | '~')
}

fn os_version() -> String {
    let files = ["/etc/os-release", "/usr/lib/os-release"];
    let written = files.iter().find_map(|file| pretty_name(&std::fs::read_to_string(Path::new(file)).ok()?));
    written.or_else(|| System::long_os_version().ok()).unwrap_or_else(|| std::env::consts::OS.to_owned())
}

fn pretty_name(os_release: &str) -> Option<String> {
    let name = os_release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    let name = name.trim().trim_matches(['"', '\'']);
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{COMPONENTS, pretty_name, version_in};

    #[test]
    fn versions_are_found_in_what_programs_say() {
        for (answer, version) in [
            ("git version 2.43.0", "2.43.0"),
            ("v22.20.0\n", "22.20.0"),
            ("go version go1.22.1 linux/amd64", "1.22.1"),
            ("gcc (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright (C) 2022", "12.2.0"),
            ("GNU bash, version 5.2.15(1)-release (x86_64-pc-linux-gnu)", "5.2.15"),
            ("\nThis is perl 5, version 36, subversion 0 (v5.36.0) built for x86_64-linux-gnu", "5.36.0"),
            ("Docker version 24.0.5, build ced0996", "24.0.5"),
            ("psql (PostgreSQL) 15.3 (Debian 15.3-0)", "15.3"),
            ("openjdk 17.0.9 2023-10-17\nOpenJDK Runtime", "17.0.9"),
            ("OpenSSL 3.0.11 19 Sep 2023 (Library: OpenSSL 3.0.11)", "3.0.11"),
            ("ruby 3.1.2p20 (2022-04-12 revision 4491bb740a)", "3.1.2p20"),
            ("rustc 1.95.0-nightly (abc 2026-01-01)", "1.95.0-nightly"),
            ("GNU Make 4.3.", "4.3"),
        ] {
            assert_eq!(version_in(answer).as_deref(), Some(version), "{answer}");
        }
        for answer in ["", "command not found", "version 7", &format!("1.{}", "0".repeat(100))] {
            assert_eq!(version_in(answer), None, "{answer}");
        }
    }

    #[test]
    fn the_name_of_the_system_is_unquoted() {
        let file = "NAME=\"Ubuntu\"\nPRETTY_NAME=\"Ubuntu 22.04.3 LTS\"\nID=ubuntu\n";
        assert_eq!(pretty_name(file).as_deref(), Some("Ubuntu 22.04.3 LTS"));
        assert_eq!(pretty_name("NAME=x\n"), None);
    }

    #[test]
    fn our_parts_have_versions() {
        for part in ["rmcp==", "hyper==", "jsonschema==", "sqlx=="] {
            assert!(COMPONENTS.split(' ').any(|component| component.starts_with(part)), "{part} in {COMPONENTS}");
        }
    }
}
