"""The same search by `grep_codebase` and by ripgrep itself, on real source trees: the same first occurrences with
place and text, the same totals, the same number of files. Patterns are made of words of the tree, always the same.

usage: grep.py --binary COUNTERSIGN --ripgrep RG [--patterns N] TREE...
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile

from session import Session

LIMIT = 100
# As the tool shows lines: cut, without what ends them.
SHOWN = 500
RULES = ["--no-config", "--hidden", "--iglob", "!.env*", "--iglob", "!.git", "--iglob", "!node_modules",
         "-g", "!dist/", "-g", "!build/", "-g", "!.next/", "-g", "!.context/"]


def text_of(part):
    """What ripgrep gives as text, or as bytes where it is none."""
    if "text" in part:
        return part["text"].encode("utf-8")
    import base64
    return base64.b64decode(part["bytes"])


def ripgrep(program, tree, arguments):
    """All occurrences in order, with totals."""
    command = [program, *RULES, "--json", "-s" if arguments["caseSensitive"] else "-i"]
    # An override brings back what is ignored; these trees are chosen such that it makes no difference.
    if "filePattern" in arguments:
        command += ["-g", arguments["filePattern"], *RULES[2:]]
    command += ["-e", arguments["pattern"], "."]
    run = subprocess.run(command, cwd=tree, capture_output=True, check=False)
    if run.returncode == 2 and not run.stdout:
        return None
    found, summary = [], {}
    for line in run.stdout.decode("utf-8").splitlines():
        event = json.loads(line)
        data = event["data"]
        if event["type"] == "summary":
            summary = data["stats"]
        elif event["type"] == "match":
            path = os.fsdecode(text_of(data["path"])).removeprefix("./")
            whole = text_of(data["lines"]).removesuffix(b"\n")
            # Counted once, where nothing but the end of a last line without one was found.
            for part in data["submatches"] or [{"start": len(whole)}]:
                column = len(whole[:part["start"]].decode("utf-8", "replace")) + 1
                found.append((path.split("/"), data["line_number"], column, path, whole))
    found.sort(key=lambda each: (list(map(os.fsencode, each[0])), each[1], each[2]))
    return found, summary["searches"]


def same(ours, theirs, pattern):
    """What is different, in words."""
    if theirs is None:
        return None if ours.get("code") == "VALIDATION_ERROR" else f"only ripgrep refuses: {ours}"
    if "code" in ours:
        return f"only we refuse: {ours}"
    found, files = theirs
    if ours["totalMatches"] != len(found):
        return f"{ours['totalMatches']} occurrences, ripgrep has {len(found)}"
    if ours["filesSearched"] != files:
        return f"{ours['filesSearched']} files, ripgrep has {files}"
    if len(ours["matches"]) != min(LIMIT, len(found)):
        return f"{len(ours['matches'])} are shown"
    for match, (_, line, column, path, whole) in zip(ours["matches"], found):
        place = (match["file"], match["line"], match["column"])
        if place != (path, line, column):
            return f"{place}, ripgrep has {(path, line, column)}"
        text = whole.removesuffix(b"\r").decode("utf-8", "replace")
        if len(text) <= SHOWN and match["text"] != text:
            return f"{match['text']!r} at {place}, ripgrep has {text!r}"
    return None


def words(program, tree, chance):
    """Words of some of the files."""
    listed = subprocess.run([program, *RULES, "--files", "."], cwd=tree, capture_output=True, check=True).stdout
    files = sorted(listed.splitlines())
    seen = set()
    for name in chance.sample(files, min(150, len(files))):
        try:
            with open(os.path.join(os.fsencode(tree), name), encoding="utf-8") as file:
                seen.update(re.findall(r"\w{3,20}", file.read(200_000)))
        except (UnicodeDecodeError, OSError):
            pass
    return sorted(seen), files


FORMS = [
    lambda w, v: w,
    lambda w, v: rf"\b{w}\b",
    lambda w, v: rf"{w}|{v}",
    lambda w, v: rf"{w[:3]}\w*",
    lambda w, v: rf"\w+{w[-3:]}\b",
    lambda w, v: rf"{w}.*{v[:2]}",
    lambda w, v: rf"^\s*{w}",
    lambda w, v: rf"{w}\W*$",
    lambda w, v: rf"[{w[0]}{v[0]}]{w[1:]}",
    lambda w, v: rf".{{1,8}}{w}.{{0,8}}",
    lambda w, v: rf"({w[:2]}|{v[:2]})+\d",
    lambda w, v: rf"(?i){w}",
    lambda w, v: rf"\p{{Lu}}{w[1:]}",
    lambda w, v: rf"[^\x00-\x7F]+.*{w[:2]}",
    lambda w, v: rf"{w}\(|{v}\.",
    lambda w, v: rf"(?-u:\b){w[:4]}",
    lambda w, v: rf"{w}?x*$",
    lambda w, v: rf"{w[:2]}{{2}}",
]
ODD = ["^$", "$", "x*qqq|^#!", r"\s+$", r"\r", "[[:space:]]{9,}", r"\x{fffd}", "é|ß|ñ", r"[^\p{ASCII}]", "(", "a{2,1}", "a\nb", r"(\w)\1"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--ripgrep", required=True)
    parser.add_argument("--patterns", type=int, default=80)
    parser.add_argument("trees", nargs="+")
    options = parser.parse_args()
    compared, occurrences, wrong = 0, 0, []
    for tree in options.trees:
        chance = random.Random(20_26)
        vocabulary, files = words(options.ripgrep, tree, chance)
        globs = [f"*{os.path.splitext(os.fsdecode(name))[1]}" for name in chance.sample(files, 5)]
        globs = [glob for glob in globs if re.fullmatch(r"\*\.\w+", glob)] + ["**/src/**"]
        patterns = list(ODD)
        while len(patterns) < options.patterns:
            patterns.append(FORMS[len(patterns) % len(FORMS)](chance.choice(vocabulary), chance.choice(vocabulary)))
        with tempfile.TemporaryDirectory() as folder:
            session = Session(os.path.abspath(options.binary), tree, folder, "grep_codebase")
            for pattern in patterns:
                arguments = {"pattern": pattern, "caseSensitive": chance.random() < 0.5, "limit": LIMIT}
                if chance.random() < 0.2:
                    arguments["filePattern"] = chance.choice(globs)
                theirs = ripgrep(options.ripgrep, tree, arguments)
                difference = same(session.call(arguments)["structuredContent"], theirs, pattern)
                compared += 1
                occurrences += len(theirs[0]) if theirs else 0
                if difference:
                    wrong.append(f"{os.path.basename(tree)}: {arguments}: {difference}")
            session.close()
        print(f"{tree}: {len(files)} files, {len(patterns)} patterns", flush=True)
    for line in wrong:
        print(line)
    print(f"{compared - len(wrong)} of {compared} searches say the same as ripgrep; {occurrences} occurrences")
    sys.exit(1 if wrong or compared < 200 else 0)


if __name__ == "__main__":
    main()
