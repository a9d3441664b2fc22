"""The six reference servers of MCP behind Countersign at once.

`references.py --binary COUNTERSIGN --node NODE --node-modules DIR --python-servers DIR`: the servers from npm are in
the first DIR, the programs from PyPI in the second. Each server is asked what it offers, first directly; then
Countersign has to judge every tool, to admit the ones with an output schema and no other, and to say of the others
what would help. What is admitted is called in three ways, and must keep what was published about it. Prints what was
wrong, and a line for each tool.
"""

import argparse
import asyncio
import json
import re
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.error
import urllib.request
from base64 import b64decode
from collections import Counter
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for
from mcp import Client
from mcp.client.stdio import StdioServerParameters

# What the pinned releases offer.
TOOLS, ADMITTED = 51, 26
VERSIONS = {"auto": "2026-07-28", "legacy": "2025-11-25"}
# MCP in these versions, and REST.
WAYS = 3
# `check` found tools that break a rule.
CONTRACT = 6
# How long one answer may take, or a server to start; on a busy machine Python alone needs seconds.
PATIENCE = 60
# How long Countersign may take to end before it is killed; over its own grace period.
END = 15
PNG = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


class Findings:
    """What should have been different, by the tool that it is about; `None` for what is about no single one. And how
    many calls of each tool there were."""

    def __init__(self):
        self.wrong, self.called = [], Counter()

    def expect(self, condition, message, tool=None):
        if not condition:
            self.wrong.append((tool, message))

    def equal(self, found, expected, what):
        """Of two sets: what one of them has too much."""
        more, less = sorted(found - expected), sorted(expected - found)
        self.expect(not more and not less, f"{what}: unexpected {more}, missing {less}")


class Mcp:
    """One connection of the Python client."""

    def __init__(self, client, mode):
        self.client, self.name = client, f"MCP {VERSIONS[mode]}"

    async def call(self, tool, arguments):
        """The result, or `None` and why not. The text of a result says the same."""
        result = await self.client.call_tool(tool, arguments)
        texts = [block.text for block in result.content if block.type == "text"]
        if result.is_error:
            return None, " ".join(texts)
        value = result.structured_content
        if not texts or json.loads(texts[0]) != value:
            return None, f"the text says {texts}, not {value}"
        return value, None


class Rest:
    """`POST /v1/tools/<tool>`."""

    def __init__(self, url):
        self.url, self.name = url, "REST"

    async def call(self, tool, arguments):
        status, body = await asyncio.to_thread(fetched, f"{self.url}/v1/tools/{tool}", {"args": arguments})
        if status == 200 and body["ok"] and body["tool"] == tool:
            return body["result"], None
        return None, f"{status} {body}"


def calls(files, way):
    """Each tool with arguments and with words that its result has to contain, in an order in which all succeed.

    Each way has names of its own: the servers keep what the way before it wrote."""
    folder, ann, bob = f"{files}/{way}", f"Ann by {way}", f"Bob by {way}"
    note, moved, picture = f"{folder}/note.txt", f"{folder}/moved.txt", f"{files}/picture.png"
    edit = {"oldText": "second", "newText": "another"}
    knows = {"from": ann, "to": bob, "relationType": "knows"}
    entities = [{"name": name, "entityType": "person", "observations": ["tall"]} for name in (ann, bob)]
    return [
        ("everything__get-structured-content", {"location": "Chicago"}, "humidity"),
        ("filesystem__list_allowed_directories", {}, files),
        ("filesystem__create_directory", {"path": folder}, folder),
        ("filesystem__write_file", {"path": note, "content": "first\nsecond\n"}, note),
        ("filesystem__edit_file", {"path": note, "edits": [edit]}, "+another"),
        ("filesystem__read_file", {"path": note}, "first\nanother\n"),
        ("filesystem__read_text_file", {"path": note, "head": 1}, "first"),
        ("filesystem__read_media_file", {"path": picture}, "image/png"),
        ("filesystem__read_multiple_files", {"paths": [note, f"{files}/hello.txt"]}, "hello"),
        ("filesystem__list_directory", {"path": folder}, "[FILE] note.txt"),
        ("filesystem__list_directory_with_sizes", {"path": folder, "sortBy": "size"}, "Total: 1 files"),
        ("filesystem__directory_tree", {"path": files}, "note.txt"),
        ("filesystem__search_files", {"path": folder, "pattern": "*.txt"}, note),
        ("filesystem__get_file_info", {"path": note}, "isFile: true"),
        ("filesystem__move_file", {"source": note, "destination": moved}, moved),
        ("memory__create_entities", {"entities": entities}, ann),
        ("memory__create_relations", {"relations": [knows]}, bob),
        ("memory__add_observations", {"observations": [{"entityName": ann, "contents": ["old"]}]}, "old"),
        ("memory__read_graph", {}, ann),
        ("memory__search_nodes", {"query": way}, bob),
        ("memory__open_nodes", {"names": [ann, bob]}, "knows"),
        ("memory__delete_observations", {"deletions": [{"entityName": ann, "observations": ["old"]}]}, "deleted"),
        ("memory__delete_relations", {"relations": [knows]}, "deleted"),
        ("memory__delete_entities", {"entityNames": [ann, bob]}, "deleted"),
        ("time__get_current_time", {"timezone": "Europe/Berlin"}, "Europe/Berlin"),
        (
            "time__convert_time",
            {"source_timezone": "Etc/UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"},
            "+9.0h",
        ),
    ]


def prepare(folder):
    """What the servers are let loose on."""
    files, repository = folder / "files", folder / "repository"
    files.mkdir()
    (files / "hello.txt").write_text("hello\n")
    (files / "picture.png").write_bytes(PNG)
    who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "init", "--quiet", repository], check=True)
    subprocess.run(["git", *who, "-C", repository, "commit", "--quiet", "--allow-empty", "-m", "one"], check=True)


def servers(options, folder):
    """The six, as the configuration has them."""

    def node(name, *arguments, **more):
        script = f"{options.node_modules}/@modelcontextprotocol/server-{name}/dist/index.js"
        return {"command": options.node, "args": [script, *arguments], **more}

    def python(name, *arguments):
        return {"command": f"{options.python_servers}/mcp-server-{name}", "args": [*arguments]}

    return {
        "everything": node("everything", "stdio"),
        "filesystem": node("filesystem", f"{folder}/files"),
        "memory": node("memory", env={"MEMORY_FILE_PATH": f"{folder}/memory.jsonl"}),
        "fetch": python("fetch"),
        "git": python("git", "--repository", f"{folder}/repository"),
        "time": python("time", "--local-timezone", "Etc/UTC"),
    }


def configure(folder, servers):
    """A file of its own for each test: JSON is YAML."""
    folder.mkdir()
    path = folder / "countersign.yaml"
    path.write_text(json.dumps({"contracts": {"level": "strict"}, "servers": servers}, indent=2))
    return path


async def offered(name, server):
    """The output schemas of a server's tools by the names that they have behind Countersign, from the server itself."""
    parameters = StdioServerParameters(command=server["command"], args=server["args"], env=server.get("env"))
    async with Client(parameters, mode="legacy", read_timeout_seconds=PATIENCE) as client:
        return {f"{name}__{tool.name}": tool.output_schema for tool in await listed(client)}


@contextmanager
def serving(binary, config):
    """Countersign's URL, for as long as it runs."""
    log = config.with_suffix(".log")
    with log.open("w") as stream:
        command = [binary, "serve", "--listen", "127.0.0.1:0", "--config", config]
        process = subprocess.Popen(
            command, cwd=config.parent, stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT
        )
    try:
        yield wait_for("its address", lambda: re.search(r"http://127\.0\.0\.1:[1-9]\d*", log.read_text())).group()
    except Exception:
        print("\n".join(log.read_text().splitlines()[-20:]))
        raise
    finally:
        end(process)


def end(process):
    process.terminate()
    try:
        process.wait(END)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def wait_for(what, find):
    late = time.monotonic() + PATIENCE
    while not (found := find()):
        if time.monotonic() > late:
            raise TimeoutError(f"waited for {what}")
        time.sleep(0.1)
    return found


def ready(url):
    """The servers' reports, once all are connected and what they offer is in the catalog."""

    def find():
        reports = fetched(f"{url}/v1/servers")[1]["servers"]
        catalog = {tool["name"] for tool in fetched(f"{url}/v1/tools")[1]["tools"]}
        return all(report["state"] == "ready" for report in reports) and admitted(reports) <= catalog and reports

    try:
        return wait_for("all servers to be ready", find)
    except TimeoutError:
        print(json.dumps(fetched(f"{url}/v1/servers")[1], indent=2))
        raise


def fetched(url, body=None):
    """The status and the JSON of an answer, whichever it is."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as err:
        return err.code, json.load(err)


def verdicts(reports):
    """By the names that the tools have, or would have, behind Countersign."""
    return {f"{report['name']}__{tool['tool']}": tool for report in reports for tool in report["tools"]}


def admitted(reports):
    return {name for name, tool in verdicts(reports).items() if tool["verdict"] == "admitted"}


async def listed(client):
    """The tools of all pages."""
    tools, cursor = [], None
    while True:
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if cursor is None:
            return tools


def check_verdicts(findings, reports, schemas, where):
    """`schemas` is what the servers say themselves."""
    judged = verdicts(reports)
    findings.expect(len(judged) == TOOLS, f"{where}: {len(judged)} verdicts, not {TOOLS}")
    findings.equal(judged.keys(), schemas.keys(), f"{where}: tools with a verdict")
    described = {name for name, schema in schemas.items() if schema is not None}
    findings.expect(len(described) == ADMITTED, f"{len(described)} tools have an output schema, not {ADMITTED}")
    findings.equal(admitted(reports), described, f"{where}: admitted tools")
    for name, tool in judged.items():
        if tool["verdict"] == "admitted":
            findings.expect(tool["name"] == name, f"{where}: is called {tool['name']}", name)
            continue
        findings.expect(tool["verdict"] == "refused", f"{where}: the verdict is {tool['verdict']}", name)
        reasons = tool.get("reasons", [])
        findings.expect(reasons, f"{where}: refused without a reason", name)
        for reason in reasons:
            findings.expect(reason["reason"] and reason["remedy"], f"{where}: without a remedy: {reason}", name)


def check_command(findings, binary, config, reports, schemas):
    """`countersign check` says the same as the running server."""
    command = [binary, "check", "--config", config, "--json"]
    done = subprocess.run(command, cwd=config.parent, capture_output=True, text=True)
    findings.expect(done.returncode == CONTRACT, f"`check` gives exit code {done.returncode}: {done.stderr}")
    found = json.loads(done.stdout)["servers"]
    check_verdicts(findings, found, schemas, "`check`")
    findings.expect(verdicts(found) == verdicts(reports), "`check` and `GET /v1/servers` differ")


async def check_lists(findings, way, schemas):
    """What is published is what the servers say, and nothing is that was refused. Gives the output schemas."""
    published = {tool.name: tool.output_schema for tool in await listed(way.client) if "__" in tool.name}
    findings.equal(
        published.keys(), {name for name, schema in schemas.items() if schema is not None}, f"{way.name}: tools/list"
    )
    for name, schema in published.items():
        findings.expect(schema == schemas.get(name), f"{way.name}: another output schema: {schema}", name)
    return published


async def check_calls(findings, way, files, published):
    table = calls(files, way.name)
    findings.equal({tool for tool, _, _ in table}, published.keys(), "tools with arguments")
    for tool, arguments, words in table:
        value, problem = await way.call(tool, arguments)
        findings.called[tool] += 1
        if problem:
            findings.expect(False, f"{way.name}: {problem}", tool)
            continue
        for err in validator(published.get(tool, False)).iter_errors(value):
            findings.expect(False, f"{way.name}: {err.json_path}: {err.message}: {value}", tool)
        findings.expect(any(words in text for text in texts(value)), f"{way.name}: no {words!r} in {value}", tool)


def validator(schema):
    """Of the dialect that the schema names; MCP's own otherwise."""
    dialect = validator_for(schema, default=Draft202012Validator)
    dialect.check_schema(schema)
    return dialect(schema, format_checker=dialect.FORMAT_CHECKER)


def texts(value):
    """All names and texts in a value."""
    if isinstance(value, dict):
        return [*value, *texts([*value.values()])]
    if isinstance(value, list):
        return [text for item in value for text in texts(item)]
    return [value] if isinstance(value, str) else []


async def ways(url, stack):
    """The three ways in. The connections are the stack's."""
    found = []
    for mode in VERSIONS:
        client = await stack.enter_async_context(Client(f"{url}/mcp", mode=mode, read_timeout_seconds=PATIENCE))
        found.append(Mcp(client, mode))
    return [*found, Rest(url)]


async def check_tools(findings, url, files, schemas):
    async with AsyncExitStack() as stack:
        modern, legacy, rest = await ways(url, stack)
        for way in (modern, legacy):
            version = way.client.protocol_version
            findings.expect(way.name == f"MCP {version}", f"{way.name}: speaks {version}")
            published = await check_lists(findings, way, schemas)
            await check_calls(findings, way, files, published)
        await check_calls(findings, rest, files, published)


async def check_approval(findings, url, files):
    """Nobody has allowed it, and nobody can be asked: it does not run."""
    tool, source, destination = "filesystem__move_file", Path(files, "hello.txt"), Path(files, "stolen.txt")
    async with AsyncExitStack() as stack:
        for way in await ways(url, stack):
            _, problem = await way.call(tool, {"source": str(source), "destination": str(destination)})
            asked = problem is not None and "APPROVAL_REQUIRED" in problem
            findings.expect(asked, f"{way.name}: runs without approval: {problem}", tool)
            findings.expect(source.exists() and not destination.exists(), f"{way.name}: the file was moved", tool)


async def check(findings, options, folder):
    prepare(folder)
    files, six = str(folder / "files"), servers(options, folder)
    schemas = {}
    for name, server in six.items():
        schemas |= await offered(name, server)
    with serving(options.binary, configure(folder / "asking", {"filesystem": six["filesystem"]})) as url:
        ready(url)
        await check_approval(findings, url, files)
    # What these do is undone with the folder.
    allowed = {name: {**server, "approval": "never"} for name, server in six.items()}
    config = configure(folder / "allowing", allowed)
    with serving(options.binary, config) as url:
        reports = ready(url)
        findings.equal({report["name"] for report in reports}, six.keys(), "servers")
        check_verdicts(findings, reports, schemas, "`GET /v1/servers`")
        await check_tools(findings, url, files, schemas)
    check_command(findings, options.binary, config, reports, schemas)
    return verdicts(reports)


def report(findings, judged):
    for tool, message in findings.wrong:
        print("WRONG", f"{tool}: {message}" if tool else message)
    bad = {tool for tool, _ in findings.wrong}
    good = [name for name in judged if findings.called[name] == WAYS and name not in bad]
    for name in good:
        print("ok", name)
    print(f"{len(good)}/{ADMITTED} tools, {len(judged)} verdicts")


def arguments():
    parser = argparse.ArgumentParser()
    for name in ("--binary", "--node", "--node-modules", "--python-servers"):
        parser.add_argument(name, required=True)
    return parser.parse_args()


def main(options):
    findings, judged = Findings(), {}
    with tempfile.TemporaryDirectory() as folder:
        try:
            judged = asyncio.run(check(findings, options, Path(folder).resolve()))
        except Exception as err:  # What was found until then is still worth a line.
            traceback.print_exception(err)
            findings.expect(False, f"gave up: {err!r}")
    report(findings, judged)
    return 1 if findings.wrong else 0


if __name__ == "__main__":
    sys.exit(main(arguments()))
