#!/usr/bin/env python3
"""Where rustc itself says that `mod` and `use` lead: its own name resolution, from `-Zunpretty=hir-tree`.

usage: rust.py ROOT SCRATCH [CARGO ARGUMENTS...]

Runs `cargo check` over a workspace with this very script as the wrapper of rustc. Each crate of the workspace is
compiled, then its tree is printed once more and read: the file of every module, and for every `use` the definition that
it leads to, through re-exports and into other crates. An item is in the file of the module around it, also where a
macro wrote it. Prints one line of JSON for each import that leads to another file of the workspace. Code that is
switched off (another system, a feature) is not seen.
"""

import hashlib
import json
import os
import re
import subprocess
import sys

PLACE = re.compile(r"(.+?):\d+:\d+: \d+:\d+ \(#(\d+)\)")
DEFINITION = re.compile(r"DefId\(\d+:\d+ ~ (.+)\),?$")
# Options of the real run that would send the tree elsewhere, or change how it is printed.
NOT_TWICE = ("--error-format", "--json", "--emit", "-Cincremental", "--diagnostic-width")


def wrapped(command):
    """As cargo calls it: the compiler, then its arguments."""
    # Open files are passed on: one of them is how cargo limits how many run at once.
    done = subprocess.run(command, close_fds=False, check=False)
    if done.returncode == 0 and "--crate-name" in command and "___" not in command:
        tree = [part for part in joined(command) if not part.startswith(NOT_TWICE)]
        environment = {**os.environ, "RUSTC_BOOTSTRAP": "1"}
        # Warnings were said already.
        with subprocess.Popen([*tree, "-Zunpretty=hir-tree"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              env=environment, text=True, encoding="utf-8") as printing:
            found = list(read(printing.stdout))
        name = hashlib.sha256("\0".join(command).encode()).hexdigest()[:16]
        path = os.path.join(os.environ["IMPORTS_TREES"], f"{name}.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"folder": os.getcwd(), "found": found}, file)
    return done.returncode


def joined(command):
    """`-C incremental=x` as one word, so that it can be left out as one."""
    parts = iter(command)
    for part in parts:
        yield part + next(parts) if part == "-C" else part


def read(lines):
    """Modules as `("mod", file, definition, inner file)`, uses as `("use", file, path, [definitions])`."""
    owner = crate = None
    for line in lines:
        text = line.strip()
        if line.startswith("DefId(0:0 ~ "):
            crate = line.removeprefix("DefId(0:0 ~ ").split(")")[0]
        elif text.startswith("owner_id: ") and line.startswith(" " * 16) and not line.startswith(" " * 17):
            owner = DEFINITION.search(text).group(1)
        elif text == "node: Crate(":
            yield ("mod", None, crate, place(until(lines, "inner_span: "))[0])
        elif text == "kind: Mod(" and line.startswith(" " * 16):
            inner = place(until(lines, "inner_span: "))[0]
            yield ("mod", place(after(lines, "span: "))[0], owner, inner)
        elif text == "kind: Use(" and line.startswith(" " * 16):
            found = use(lines)
            if found:
                yield found


def use(lines):
    """One `use`, unless a macro made it up."""
    where, made = place(until(lines, "span: "))
    segments, definitions, in_segments = [], [], False
    for line in lines:
        text = line.strip()
        if text.startswith("segments: "):
            in_segments = True
        elif in_segments and text.startswith("ident: "):
            segments.append(re.sub(r"#\d+,$", "", text.removeprefix("ident: ")))
        elif not in_segments and "DefId(" in text:
            definitions.append(DEFINITION.search(text).group(1))
        elif line.startswith(" " * 20) and not line.startswith(" " * 21) and text in ("Glob,", "ListStem,", "Single("):
            if text == "ListStem," or made or not definitions:
                return None
            return ("use", where, "::".join(segments + ["*"] * (text == "Glob,")), sorted(set(definitions)))
    return None


def until(lines, word):
    for line in lines:
        text = line.strip()
        if text.startswith(word):
            return text.removeprefix(word)
    return ""


def after(lines, word):
    """The same, of the item itself and not of what is in it."""
    for line in lines:
        if line.startswith(" " * 16 + word):
            return line.strip().removeprefix(word)
    return ""


def place(text):
    found = PLACE.match(text)
    return (found.group(1), found.group(2) != "0") if found else (None, True)


def reference(root, scratch, arguments):
    trees = os.path.join(scratch, "trees")
    os.makedirs(trees, exist_ok=True)
    environment = {**os.environ, "RUSTC_WORKSPACE_WRAPPER": os.path.abspath(__file__), "IMPORTS_TREES": trees,
                   "CARGO_TARGET_DIR": os.path.join(scratch, "target"), "CARGO_INCREMENTAL": "0",
                   "RUSTFLAGS": f"-Awarnings {os.environ.get('RUSTFLAGS', '')}"}
    command = ["cargo", "check", "--keep-going", *arguments]
    done = subprocess.run(command, cwd=root, env=environment, stdout=sys.stderr, check=False)
    if done.returncode:
        print("cargo check failed for a part of the workspace; that part is left out", file=sys.stderr)
    imports(root, trees)


def imports(root, trees):
    """The same name may be imported by the library and by its tests, which are two crates."""
    files, modules, uses = {}, set(), set()
    for name in sorted(os.listdir(trees)):
        with open(os.path.join(trees, name), encoding="utf-8") as file:
            tree = json.load(file)

        def relative(path):
            whole = os.path.realpath(os.path.join(tree["folder"], path))
            return os.path.relpath(whole, root) if whole.startswith(root + os.sep) else None

        for kind, where, what, target in tree["found"]:
            if kind == "use":
                uses.add((relative(where), what, tuple(target)))
                continue
            files[what] = relative(target)
            if where:
                modules.add((relative(where), what.split("::")[-1], relative(target)))
    lines = {line(where, f"mod {name}", {target}) for where, name, target in modules}
    for where, path, definitions in uses:
        lines.add(line(where, f"use {path}", {file_of(files, definition) for definition in definitions}))
    for each in sorted(lines - {None}):
        print(each)


def file_of(modules, definition):
    """Of the innermost module around it."""
    parts = definition.split("::")
    while parts:
        found = modules.get("::".join(parts))
        if found:
            return found
        parts.pop()
    return None


def line(where, what, targets):
    targets = targets - {None}
    if where and targets and where not in targets:
        return json.dumps({"file": where, "import": what, "targets": sorted(targets), "any": True})
    return None


if __name__ == "__main__":
    if "IMPORTS_TREES" in os.environ:
        sys.exit(wrapped(sys.argv[1:]))
    reference(os.path.realpath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3:])
