//! Python: relative imports, modules and packages from where a project keeps them, namespace packages included.

use super::Resolution;
use super::paths::{common, folder_of, joined, upwards, within};
use super::view::View;

/// Folders below which a project may keep its packages.
const SOURCE_FOLDERS: [&str; 4] = ["", "src", "lib", "python"];

/// What a module may be in, in the order in which Python looks.
const ENDINGS: [&str; 2] = [".py", ".pyi"];

/// Modules that come with Python, sorted.
#[rustfmt::skip]
const STANDARD: &[&str] = &[
    "abc", "aifc", "annotationlib", "antigravity", "argparse", "array", "ast", "asynchat", "asyncio", "asyncore",
    "atexit", "audioop", "base64", "bdb", "binascii", "bisect", "builtins", "bz2", "cProfile", "calendar", "cgi",
    "cgitb", "chunk", "cmath", "cmd", "code", "codecs", "codeop", "collections", "colorsys", "compileall",
    "compression", "concurrent", "configparser", "contextlib", "contextvars", "copy", "copyreg", "crypt", "csv",
    "ctypes", "curses", "dataclasses", "datetime", "dbm", "decimal", "difflib", "dis", "distutils", "doctest",
    "email", "encodings", "ensurepip", "enum", "errno", "faulthandler", "fcntl", "filecmp", "fileinput", "fnmatch",
    "fractions", "ftplib", "functools", "gc", "genericpath", "getopt", "getpass", "gettext", "glob", "graphlib",
    "grp", "gzip", "hashlib", "heapq", "hmac", "html", "http", "idlelib", "imaplib", "imghdr", "imp", "importlib",
    "inspect", "io", "ipaddress", "itertools", "json", "keyword", "lib2to3", "linecache", "locale", "logging", "lzma",
    "mailbox", "mailcap", "marshal", "math", "mimetypes", "mmap", "modulefinder", "msilib", "msvcrt",
    "multiprocessing", "netrc", "nis", "nntplib", "nt", "ntpath", "nturl2path", "numbers", "opcode", "operator",
    "optparse", "os", "ossaudiodev", "pathlib", "pdb", "pickle", "pickletools", "pipes", "pkgutil", "platform",
    "plistlib", "poplib", "posix", "posixpath", "pprint", "profile", "pstats", "pty", "pwd", "py_compile", "pyclbr",
    "pydoc", "pydoc_data", "pyexpat", "queue", "quopri", "random", "re", "readline", "reprlib", "resource",
    "rlcompleter", "runpy", "sched", "secrets", "select", "selectors", "shelve", "shlex", "shutil", "signal", "site",
    "smtpd", "smtplib", "sndhdr", "socket", "socketserver", "spwd", "sqlite3", "sre_compile", "sre_constants",
    "sre_parse", "ssl", "stat", "statistics", "string", "stringprep", "struct", "subprocess", "sunau", "symtable",
    "sys", "sysconfig", "syslog", "tabnanny", "tarfile", "telnetlib", "tempfile", "termios", "textwrap", "this",
    "threading", "time", "timeit", "tkinter", "token", "tokenize", "tomllib", "trace", "traceback", "tracemalloc",
    "tty", "turtle", "turtledemo", "types", "typing", "unicodedata", "unittest", "urllib", "uu", "uuid", "venv",
    "warnings", "wave", "weakref", "webbrowser", "winreg", "winsound", "wsgiref", "xdrlib", "xml", "xmlrpc", "zipapp",
    "zipfile", "zipimport", "zlib", "zoneinfo",
];

/// Where a dotted name leads.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Module {
    File(String),
    /// A folder with an `__init__.py`, which is given.
    Package {
        folder: String,
        init: String,
    },
    /// A folder without one.
    Namespace(String),
}

pub(super) fn resolve(view: &View<'_>, from: &str, level: usize, module: &str, names: &[String]) -> Resolution {
    let found = if level == 0 { Ok(absolute(view, from, module)) } else { relative(view, from, level, module) };
    match found {
        Ok(Some(found)) => taken_from(view, &found, names),
        Ok(None) if level == 0 => Resolution::External,
        Ok(None) => Resolution::NotFound,
        Err(OutOfTheRoot) => Resolution::Refused,
    }
}

struct OutOfTheRoot;

/// One dot is the package that the file is in.
fn relative(view: &View<'_>, from: &str, level: usize, module: &str) -> Result<Option<Module>, OutOfTheRoot> {
    let up = "../".repeat(level - 1);
    let folder = joined(folder_of(from), &up).ok_or(OutOfTheRoot)?;
    Ok(if module.is_empty() { Some(package(view, folder)) } else { below(view, &folder, module) })
}

fn absolute(view: &View<'_>, from: &str, module: &str) -> Option<Module> {
    let top = module.split('.').next().unwrap_or(module);
    let own = package_root(view, folder_of(from));
    if STANDARD.binary_search(&top).is_ok() {
        // A package of the same name, here, and the part of it that is meant: then it is this project's.
        let ours = below(view, own, module).filter(|_| module != top);
        return ours.filter(|found| !matches!(found, Module::Namespace(_)));
    }
    let mut namespace = None;
    for root in view.once("python", || roots(view, from, own)).iter() {
        match below(view, root, module) {
            // A folder that is only a folder: something better may come.
            Some(Module::Namespace(folder)) => namespace = namespace.or(Some(Module::Namespace(folder))),
            Some(found) => return Some(found),
            None => {}
        }
    }
    elsewhere(view, from, module).or(namespace)
}

/// Folders that Python would search, or a tool on its behalf: those around the file, and those of every project in here.
fn roots(view: &View<'_>, from: &str, own: &str) -> Vec<String> {
    let below = |folder: &str| SOURCE_FOLDERS.map(|name| within(folder, name));
    let mut roots = vec![own.to_owned()];
    roots.extend(upwards(own).flat_map(below));
    let mut projects: Vec<&str> = ["pyproject.toml", "setup.py", "setup.cfg", "conftest.py"]
        .iter()
        .flat_map(|name| view.census().manifests(name))
        .map(|path| folder_of(path))
        .collect();
    projects.sort_by_key(|folder| (usize::MAX - common(folder, from), *folder));
    projects.dedup();
    roots.extend(projects.into_iter().flat_map(below));
    // Inside of a package Python does not look, unless a part of it runs as a script.
    roots.extend(upwards(folder_of(from)).take_while(|folder| *folder != own).flat_map(below));
    let mut seen = std::collections::HashSet::new();
    roots.retain(|root| seen.insert(root.clone()));
    roots
}

/// A package that lies somewhere else in the project, if its folder is the top of one.
fn elsewhere(view: &View<'_>, from: &str, module: &str) -> Option<Module> {
    let top = module.split('.').next()?;
    let folders = view.census().folders_ending(top, from).into_iter();
    let tops = folders.filter(|folder| init(view, folder).is_some() && init(view, folder_of(folder)).is_none());
    tops.map(folder_of).find_map(|root| below(view, root, module))
}

/// The folder that the outermost package around this one is in.
fn package_root<'f>(view: &View<'_>, folder: &'f str) -> &'f str {
    upwards(folder).find(|folder| folder.is_empty() || init(view, folder).is_none()).unwrap_or_default()
}

fn init(view: &View<'_>, folder: &str) -> Option<String> {
    ENDINGS.iter().map(|ending| within(folder, &format!("__init__{ending}"))).find(|path| view.is_file(path))
}

fn package(view: &View<'_>, folder: String) -> Module {
    match init(view, &folder) {
        Some(init) => Module::Package { folder, init },
        None => Module::Namespace(folder),
    }
}

fn below(view: &View<'_>, folder: &str, module: &str) -> Option<Module> {
    let (parents, last) = module.rsplit_once('.').unwrap_or(("", module));
    let parent = joined(folder, &parents.replace('.', "/"))?;
    // One look where there is nothing, which is most often the case.
    if !view.is_folder(&parent) {
        return None;
    }
    submodule(view, &parent, last)
}

fn submodule(view: &View<'_>, folder: &str, name: &str) -> Option<Module> {
    let path = within(folder, name);
    let is_folder = !name.is_empty() && view.is_folder(&path);
    if is_folder && let Some(init) = init(view, &path) {
        return Some(Module::Package { folder: path, init });
    }
    let file = ENDINGS.iter().map(|ending| format!("{path}{ending}")).find(|path| view.is_file(path));
    file.map(Module::File).or_else(|| is_folder.then_some(Module::Namespace(path)))
}

/// `from a import b`: modules of the package that are named, and the package itself for everything else.
fn taken_from(view: &View<'_>, module: &Module, names: &[String]) -> Resolution {
    let (folder, own) = match module {
        Module::File(path) => return Resolution::Files(vec![path.clone()]),
        Module::Package { folder, init } => (folder, Some(init)),
        Module::Namespace(folder) => (folder, None),
    };
    let mut files = Vec::new();
    let mut whole = names.is_empty();
    for name in names {
        match submodule(view, folder, name) {
            Some(Module::File(path)) => files.push(path),
            Some(Module::Package { init, .. }) => files.push(init),
            Some(Module::Namespace(_)) => {}
            None => whole = true,
        }
    }
    if let Some(init) = own.filter(|_| whole) {
        files.insert(0, init.clone());
    }
    match (files.is_empty(), own) {
        (false, _) => Resolution::Files(files),
        // A folder without code of its own.
        (true, _) => Resolution::NotFound,
    }
}
