"""What Countersign does with servers that misbehave: `misbehave.py BINARY [--times FILE]`.

Every behaviour of `misbehaving.py` is configured as an upstream server, a group at a time, beside a healthy one that is
called all the while. Prints what was wrong; fails on that, on a neighbour that gives a wrong answer or stalls, on memory,
and on processes that are left after SIGTERM or SIGKILL. How long the neighbour took goes into FILE. Talks to the loopback
address only.
"""

import argparse
import http.client
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path
from urllib.parse import quote

PEER = Path(__file__).with_name("misbehaving.py")
CALLER = Path(__file__).with_name("neighbour.py")

# So many at a time, beside those that take long.
GROUP = 8
# Of each server's calls, as it is configured.
CALL_TIMEOUT = 2
# For something that should be so at once, on a busy machine.
PATIENCE = 10
# For what ends with a timeout of Countersign's own: 30 seconds to connect, 20 to list.
LONG_PATIENCE = 45
# Seconds in which the healthy server is alone.
ALONE = 4
# Kilobytes above what Countersign needs with the healthy server alone.
MEMORY_MAX = 64 * 1024
# Seconds of one call to the healthy server: no machine is that busy by itself.
STALL_MAX = 1.0
# Bytes of one server's report: it is read by people, and at every refresh of a page.
REPORT_MAX = 100_000

HIDDEN = re.compile("[\u200b-\u200f\u202a-\u202e\x1b\U000e0000-\U000e0fff]")
SECRET = "what-nobody-checked"


# What is looked for. Each gives a complaint, or nothing.


class Probe:
    """One server, as a check sees it."""

    def __init__(self, countersign, name):
        self.countersign, self.name = countersign, name

    def report(self):
        return self.countersign.reports.get(self.name, {})

    def tool(self, name):
        found = [tool for tool in self.report().get("tools", []) if tool["tool"] == name]
        return found[-1] if found else {}

    def wait(self, expected, look, patience):
        """Until `look` gives nothing to complain about."""
        until = time.monotonic() + patience
        while True:
            got = look()
            if got is None:
                return None
            if time.monotonic() > until:
                return f"expected {expected}, got {got}"
            time.sleep(0.05)


def gone(error="", patience=PATIENCE):
    """Not connected, for a reason that says so."""

    def check(probe):
        def look():
            report = probe.report()
            why = report.get("error") or ""
            if report.get("state") in ("waiting", "connecting", "down") and why and error in why:
                return None
            return f"{report.get('state')} ({why[:200]!r})"

        return probe.wait(f"gone ({error!r})", look, patience)

    return check


def incomplete(error, patience=PATIENCE):
    """Connected, but not all that it has can be had, for a reason that says so."""

    def check(probe):
        def look():
            report = probe.report()
            why = report.get("error") or ""
            if report.get("state") == "ready" and error in why:
                return None
            return f"{report.get('state')} ({why[:200]!r})"

        return probe.wait(f"incomplete ({error!r})", look, patience)

    return check


def ready(patience=PATIENCE):
    def check(probe):
        def look():
            state = probe.report().get("state")
            return None if state == "ready" else f"{state} ({probe.report().get('error')!r})"

        return probe.wait("ready", look, patience)

    return check


def admitted(tool="echo", patience=PATIENCE):
    """Taken, and offered."""

    def check(probe):
        def look():
            found = probe.tool(tool)
            if found.get("verdict") != "admitted":
                return f"{probe.report().get('state')} {probe.report().get('error')!r}, {tool!r}: {shown(found)}"
            status, _ = probe.countersign.ask("GET", f"/v1/tools/{found['name']}")
            return None if status == 200 else f"not offered ({status})"

        return probe.wait(f"{tool!r} admitted", look, patience)

    return check


def refused(*kinds, tool="echo", patience=PATIENCE):
    """For these reasons, and not to be called."""

    def check(probe):
        def look():
            found = probe.tool(tool)
            got = {reason["kind"] for reason in found.get("reasons", [])}
            if found.get("verdict") != "refused" or got != set(kinds):
                return f"{probe.report().get('state')} {probe.report().get('error')!r}, {shown(found)}"
            code, _ = call_tool(probe, tool, {"text": "x"})
            return None if code == "NOT_FOUND" else f"a call gives {code}"

        return probe.wait(f"{tool!r} refused for {', '.join(kinds)}", look, patience)

    return check


def call(*expected, tool="echo", says=None, arguments=None):
    """One call, and what it gives: one of these codes, or `OK`."""
    words = " or ".join(expected)

    def check(probe):
        begun = time.monotonic()
        code, answer = call_tool(probe, tool, arguments or {"text": "hello"})
        took = time.monotonic() - begun
        if code not in expected:
            return f"expected {words}, got {code} {shown(answer)}"
        if says is not None and answer["result"] != {"said": says}:
            return f"expected {says!r}, got {shown(answer)}"
        if took > CALL_TIMEOUT + 2:
            return f"expected {words} within {CALL_TIMEOUT} s, got it after {took:.1f} s"
        return untrusted(answer)

    return check


def call_until(expected, tool="echo"):
    """As `call`, but what was announced may take a moment to hold."""

    def check(probe):
        def look():
            code, _ = call_tool(probe, tool, {"text": "hello"})
            return None if code == expected else code

        return probe.wait(expected, look, PATIENCE)

    return check


def call_over_mcp(tool="echo"):
    """What a model would be given holds nothing that was not checked."""

    def check(probe):
        answer = probe.countersign.call_over_mcp(f"{probe.name}__{tool}", {"text": "hello"})
        if "result" not in answer:
            return f"over MCP: expected a result, got {shown(answer)}"
        complaint = untrusted(answer)
        return complaint and f"over MCP: {complaint}"

    return check


def call_both(expected, *tools):
    """At the same time."""

    def check(probe):
        codes = {}

        def one(tool):
            codes[tool] = call_tool(probe, tool, {"text": "hello"})[0]

        in_threads(one, tools)
        return None if set(codes.values()) == {expected} else f"expected {expected} for both, got {codes}"

    return check


def clean_report(probe):
    """Nothing in it that hides, and no more of it than somebody would read."""
    report = json.dumps(probe.report(), ensure_ascii=False)
    if len(report) > REPORT_MAX:
        return f"expected a report of at most {REPORT_MAX} bytes, got {len(report)}"
    # JSON writes some of them out; whoever reads the value has them again.
    if HIDDEN.search(report) or "\\u001b" in report:
        return f"expected a report without hidden characters, got {report[:300]!a}"
    return None


def one_copy(probe):
    """Another one is started only when the one before it is gone."""

    def look():
        copies = sum(1 for process in probe.countersign.processes() if process.supervises(probe.name))
        return None if copies <= 1 else f"{copies} copies"

    if complaint := probe.wait("a second attempt", lambda: restarts_below(probe, 1), LONG_PATIENCE):
        return complaint
    # The next attempt follows after a second, what is left has four to end.
    time.sleep(6)
    return probe.wait("at most one copy", look, 2)


def restarts_below(probe, number):
    restarts = probe.report().get("restarts", 0)
    return None if restarts >= number else f"{restarts} restarts"


def call_tool(probe, tool, arguments):
    path = f"/v1/tools/{probe.name}__{quote(tool)}"
    status, answer = probe.countersign.ask("POST", path, {"args": arguments})
    return ("OK" if status == 200 else answer.get("code", status)), answer


def untrusted(answer):
    text = json.dumps(answer, ensure_ascii=False)
    if SECRET in text:
        return f"expected nothing unchecked, got {text[:300]!a}"
    if HIDDEN.search(text) or "\\u001b" in text:
        return f"expected no hidden characters, got {text[:300]!a}"
    return None


def shown(value):
    return json.dumps(value)[:300]


def in_threads(run, items):
    threads = [threading.Thread(target=run, args=(item,), daemon=True) for item in items]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# What is right, by behaviour: in this order, up to the first complaint.

WORKS = [admitted(), call("OK", says="hello")]
LATE = [admitted(), call("TIMEOUT")]
BROKEN = [admitted(), call("CONTRACT_VIOLATION")]
FAILS = [admitted(), call("UPSTREAM_ERROR")]
ENDS = [admitted(), call("UNAVAILABLE")]
# Which of the two limits is met first depends on the machine.
TOO_LONG = [admitted(), call("UNAVAILABLE", "TIMEOUT")]
# Whoever floods us is listened to now and then, and its own answers come late: two full pipes of messages take seconds.
FLOODS = [admitted(patience=LONG_PATIENCE), call("OK", "TIMEOUT")]
BAD_INPUT = [refused("input_schema")]
BAD_OUTPUT = [refused("output_schema")]
HIDES = [refused("hidden_characters")]
INSTRUCTS = [refused("instructions")]

# A program may signal whatever its user may, its supervisor included; in a sandbox it may not.
CONFINED = {"kill-supervisor", "stop-supervisor"}

EXPECTED = {
    "crash-at-start": [gone()],
    "crash-on-discover": WORKS,
    "crash-on-initialize": [gone()],
    "crash-after-initialize": [gone()],
    "crash-on-list": [gone()],
    "crash-on-call": ENDS,
    "crash-mid-line": ENDS,
    "crash-after-answer": [*WORKS, call_until("OK")],
    "mute-on-call": LATE,
    "deaf-on-call": LATE,
    "close-stdout": [gone()],
    "close-stdin": ENDS,
    "noise-at-start": WORKS,
    "garbage-endless": [gone("no messages")],
    "garbage-binary": LATE,
    "garbage-utf8": LATE,
    "garbage-array": LATE,
    "garbage-number": LATE,
    "garbage-bom": LATE,
    "garbage-nested": ENDS,
    "garbage-twice-a-key": LATE,
    "garbage-nan": LATE,
    "garbage-1e999": LATE,
    "line-100mb": TOO_LONG,
    "line-endless": TOO_LONG,
    "line-endless-at-start": [gone("bytes")],
    "list-100mb": [gone("bytes")],
    "stderr-flood": WORKS,
    "stderr-endless-line": WORKS,
    "notification-flood": FLOODS,
    "request-flood": FLOODS,
    "changed-flood": FLOODS,
    "changed-ever-new": FLOODS,
    "id-wrong": LATE,
    "id-string": LATE,
    "id-null": LATE,
    "id-float": LATE,
    "id-missing": LATE,
    "id-with-method": LATE,
    "id-twice": [*WORKS, call("OK", says="hello")],
    "id-swapped": [admitted(), admitted("tell"), call_both("CONTRACT_VIOLATION", "echo", "tell")],
    "id-early": LATE,
    "change-schema": [*WORKS, call_until("VALIDATION_ERROR")],
    "change-to-poison": [*WORKS, *INSTRUCTS, call_until("NOT_FOUND")],
    "change-to-nothing": [*WORKS, call_until("NOT_FOUND")],
    "change-mid-call": BROKEN,
    "poison-zero-width": HIDES,
    "poison-bidi": HIDES,
    "poison-ansi": HIDES,
    "poison-tags": HIDES,
    "poison-instructions": INSTRUCTS,
    "poison-title": INSTRUCTS,
    "poison-argument": INSTRUCTS,
    "poison-choice": INSTRUCTS,
    "poison-argument-name": HIDES,
    "poison-server-name": [*WORKS, clean_report],
    "poison-refusal": [gone("no"), clean_report],
    "long-server-name": [admitted(), clean_report],
    "description-missing": [refused("description")],
    "name-cyrillic": [*WORKS, refused("name", tool="\u0435cho")],
    "name-alike": [admitted("read-file"), refused("look_alike", tool="read_file")],
    "name-newline": [refused("name", tool="ec\nho")],
    # Shortened: it is kept and shown.
    "name-long": [refused("name", tool="e" * 128 + "…")],
    "name-missing": [refused("name", tool="")],
    "name-number": [refused("name", tool="")],
    "name-twice": [refused("name")],
    # By ruling: what a server calls read-only needs no approval; the operator can ask for one.
    "annotations-lie": [admitted("delete_everything"), call("OK", tool="delete_everything")],
    "schema-missing": BAD_INPUT,
    "schema-boolean": BAD_INPUT,
    "schema-array": BAD_INPUT,
    "schema-invalid": BAD_INPUT,
    "schema-undeclared": BAD_INPUT,
    "schema-circle": BAD_INPUT,
    "schema-network": BAD_INPUT,
    "schema-file": BAD_INPUT,
    "schema-dialect": BAD_INPUT,
    "schema-deep": BAD_INPUT,
    "schema-exponential": BAD_INPUT,
    "schema-expensive": [admitted(), call("VALIDATION_ERROR")],
    "schema-backtracking": [admitted(), call("VALIDATION_ERROR", arguments={"text": "a" * 5000 + "!"})],
    "schema-huge-pattern": BAD_INPUT,
    "output-missing": BAD_OUTPUT,
    "output-boolean": BAD_OUTPUT,
    "output-anything": BAD_OUTPUT,
    "output-network": BAD_OUTPUT,
    "list-endless": [gone("without an end")],
    "list-10000": [gone("parts")],
    "list-null": [gone("a list that is none")],
    "list-refused": [gone("no tools today")],
    "prompts-refused": [*WORKS, incomplete("no prompts today")],
    "resources-null": [*WORKS, incomplete("resources cannot be listed")],
    "list-with-a-bad-one": [*WORKS, refused("instructions", tool="poisoned")],
    "list-cursor-number": WORKS,
    "result-unstructured": BROKEN,
    "result-wrong-type": BROKEN,
    "result-extra": BROKEN,
    "result-50mb": TOO_LONG,
    "result-dense": ENDS,
    "result-deep": LATE,
    "result-text-lies": [admitted(), call("OK", says="true"), call_over_mcp()],
    "result-side-channel": [admitted(), call("OK", says="true"), call_over_mcp()],
    "result-odd-block": [admitted(), call("OK", says="true"), call_over_mcp()],
    # What a result has in its fields is data, and goes on as it is.
    "result-hidden": [admitted(), call_until("OK")],
    "result-error": FAILS,
    "result-error-hidden": [*FAILS, call_over_mcp()],
    "result-error-word": BROKEN,
    # Over REST there is nobody to ask.
    "result-input-required": ENDS,
    "result-string": BROKEN,
    "result-null": BROKEN,
    "result-missing": FAILS,
    "result-and-error": FAILS,
    "error-10mb": ENDS,
    "error-word": FAILS,
    "progress-foreign": WORKS,
    "progress-flood": FLOODS,
    "progress-negative": WORKS,
    "version-unknown": [gone("version")],
    "version-missing": [gone("version")],
    "version-number": [gone("version")],
    "capabilities-empty": WORKS,
    "discover-lies": [gone("not that, either")],
    "discover-odd": WORKS,
}

# By themselves, after all others: looking at these takes long.
COSTLY = {
    "long-description": [refused("long_text"), clean_report],
    "schema-100000": [gone("parts")],
    "list-2000": [gone("a longer list")],
    "poison-everywhere": [refused("hidden_characters", "input_schema"), clean_report],
}

# From the beginning to the end: they keep Countersign waiting for as long as it is willing to.
LONG = {
    "mute-at-start": [gone("no answer", LONG_PATIENCE)],
    "mute-on-discover": [admitted(patience=LONG_PATIENCE), call("OK", says="hello")],
    "mute-on-initialize": [gone("no answer", LONG_PATIENCE)],
    "mute-on-list": [gone("no answer", LONG_PATIENCE)],
    "change-to-silence": [*WORKS, incomplete("no answer", LONG_PATIENCE), *WORKS],
    "mute-on-prompts": [*WORKS, incomplete("prompts cannot be listed: no answer", LONG_PATIENCE)],
    "request-unread": [gone("no answer", LONG_PATIENCE), one_copy],
}

# There when the end comes, which nothing of them may survive.
STAYING = {
    "fork-daemon": WORKS,
    "fork-grandchildren": WORKS,
    "fork-chain": WORKS,
    "fork-on-stdout": ENDS,
    "ignore-signals": WORKS,
    "kill-supervisor": [*WORKS, gone()],
    "stop-supervisor": WORKS,
}


class Process:
    """One that this run has started, by way of Countersign or otherwise."""

    def __init__(self, number, command):
        self.number, self.command = number, command

    def behaviour(self):
        return self.command[-1]

    def supervises(self, name):
        return "supervise" in self.command and self.behaviour() == name


class Countersign:
    """A running one, with a folder of its own."""

    def __init__(self, binary):
        self.mark = f"MISBEHAVING_RUN={uuid.uuid4()}"
        self.folder = Path(tempfile.mkdtemp(prefix="misbehave-"))
        self.reports = {}
        self.configure([])
        command = [binary, "serve", "--listen", "127.0.0.1:0", "--config", "countersign.yaml"]
        with (self.folder / "stderr").open("wb") as talk:
            self.process = subprocess.Popen(
                command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=talk
            )
        self.port = int(re.search(rb"http://127\.0\.0\.1:(\d+)", self.process.stdout.readline())[1])
        self.local = threading.local()
        self.watching = True
        threading.Thread(target=self.watch, daemon=True).start()

    def configure(self, names):
        """The healthy one and these."""
        servers = {name: self.server(name) for name in ["healthy", *names]}
        written = self.folder / "countersign.new"
        # JSON is YAML. Without tools of our own that take memory when they please, as an index does.
        written.write_text(json.dumps({"tools": ["hello"], "servers": servers}))
        written.rename(self.folder / "countersign.yaml")
        self.configured = set(servers)

    def reconfigure(self, names):
        self.configure(names)
        self.process.send_signal(signal.SIGHUP)

    def server(self, name):
        key, value = self.mark.split("=")
        env = {key: value, "MISBEHAVING_WHILE": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"}
        behaviour = "healthy" if name.startswith("healthy") else name
        server = {"command": sys.executable, "args": [str(PEER), behaviour], "env": env, "timeout": f"{CALL_TIMEOUT}s"}
        if name in CONFINED:
            server["sandbox"] = {"read": [sys.prefix, sys.base_prefix, str(PEER.parent)], "write": [str(self.folder)]}
        return server

    def watch(self):
        """The reports, several times a second."""
        while self.watching:
            try:
                _, listed = self.ask("GET", "/v1/servers")
                self.reports = {server["name"]: server for server in listed.get("servers", [])}
            except (OSError, http.client.HTTPException):
                self.reports = {}
            time.sleep(0.2)

    def memory(self, key="VmRSS"):
        """Kilobytes that are resident; none once it is gone."""
        try:
            status = Path(f"/proc/{self.process.pid}/status").read_text()
        except OSError:
            return 0
        found = re.search(rf"{key}:\s*(\d+)", status)
        return int(found[1]) if found else 0

    def peak(self):
        """Since `forget_peak`."""
        return self.memory("VmHWM")

    def forget_peak(self):
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")

    def ask(self, method, path, body=None, headers=None):
        """Status and answer, over a connection of this thread's own."""
        connection = getattr(self.local, "connection", None)
        if connection is None:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
            self.local.connection = connection
        data = None if body is None else json.dumps(body).encode()
        try:
            connection.request(method, path, data, {"content-type": "application/json", **(headers or {})})
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        except BaseException:
            self.local.connection = None
            connection.close()
            raise

    def call_over_mcp(self, tool, arguments):
        headers = {
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": "2026-07-28",
            "mcp-method": "tools/call",
            "mcp-name": tool,
        }
        prefix = "io.modelcontextprotocol"
        meta = {f"{prefix}/protocolVersion": "2026-07-28", f"{prefix}/clientCapabilities": {}}
        params = {"name": tool, "arguments": arguments, "_meta": meta}
        _, answer = self.ask(
            "POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, headers
        )
        return answer

    def processes(self):
        """Everything that carries the mark, zombies aside."""
        found = []
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit():
                continue
            try:
                if self.mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                    command = (folder / "cmdline").read_text(errors="replace").rstrip("\0").split("\0")
                    found.append(Process(int(folder.name), command))
            except OSError:
                # Gone meanwhile, or somebody else's.
                continue
        return found

    def left(self, but=(), within=8):
        """Processes by behaviour that are still there after so many seconds."""
        until = time.monotonic() + within
        while True:
            left = [process for process in self.processes() if process.behaviour() not in but]
            if not left and not any(self.processes_again(but)):
                return {}
            if time.monotonic() > until:
                return count(process.behaviour() for process in left)
            time.sleep(0.1)

    def processes_again(self, but):
        """One that becomes another all the time may be missed once, not five times."""
        for _ in range(5):
            yield any(process.behaviour() not in but for process in self.processes())

    def end(self, number):
        """Seconds that it took, and the exit code."""
        self.watching = False
        begun = time.monotonic()
        self.process.send_signal(number)
        try:
            code = self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        return time.monotonic() - begun, code

    def clean_up(self):
        """Whatever is left, by its number; what changes its number goes with the folder."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
        for process in self.processes():
            try:
                os.kill(process.number, signal.SIGKILL)
            except ProcessLookupError:
                continue


def count(names):
    counted = {}
    for name in names:
        counted[name] = counted.get(name, 0) + 1
    return counted


class Neighbour:
    """Calls the healthy server again and again, and takes the time, in a program of its own."""

    def __init__(self, countersign):
        command = [sys.executable, str(CALLER), str(countersign.port)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.calls = []
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for line in self.process.stdout:
            self.calls.append(json.loads(line))

    def times(self, since, until=math.inf):
        """Of the calls that ended then."""
        return [took for ended, took, _ in self.calls if since <= ended < until]

    def failures(self, since):
        return [wrong for ended, _, wrong in self.calls if ended >= since and wrong]

    def stop(self):
        self.process.stdin.close()
        self.process.wait()
        self.thread.join()


def p99(times):
    return sorted(times)[int(len(times) * 0.99)] * 1000 if times else 0.0


class Findings:
    """One line for each behaviour, and what else was wrong."""

    def __init__(self):
        self.good, self.wrong, self.begun = 0, [], time.monotonic()

    def note(self, name, complaint):
        if complaint:
            self.wrong.append(name)
            print(f"WRONG {name}: {complaint}", flush=True)
        else:
            self.good += 1
            print(f"ok {name}", flush=True)

    def say(self, words):
        print(f"   {time.monotonic() - self.begun:5.1f} s: {words}", flush=True)


def check_group(countersign, cases):
    """Each in a thread of its own; complaints by name."""
    complaints = {}

    def one(name):
        probe = Probe(countersign, name)
        try:
            found = (check(probe) for check in cases[name])
            complaints[name] = next((complaint for complaint in found if complaint), None)
        except (OSError, http.client.HTTPException) as err:
            complaints[name] = f"expected an answer, got {type(err).__name__}: {err}"

    in_threads(one, cases)
    return complaints


def groups(cases):
    names = list(cases)
    return [{name: cases[name] for name in names[at : at + GROUP]} for at in range(0, len(names), GROUP)]


class Round:
    """One Countersign with all groups, one after the other, beside one neighbour.

    A second one has nothing but a healthy server. It is called at the same time, so the programs that misbehave cost both
    the same time of the processors, and what the first takes longer is its own doing.
    """

    def __init__(self, binary, findings):
        self.findings = findings
        self.countersign, self.apart = Countersign(binary), Countersign(binary)
        self.p99_alone = 0.0
        self.memory_alone = self.memory_peak = 0

    def run(self, chosen):
        expected, costly, long, staying = (picked(cases, chosen) for cases in (EXPECTED, COSTLY, LONG, STAYING))
        self.alone()
        self.begun = time.monotonic()
        self.countersign.reconfigure(long)
        complaints = {}
        waiting = threading.Thread(target=lambda: complaints.update(check_group(self.countersign, long)))
        waiting.start()
        for group in [*groups(expected), costly]:
            self.group(group, long)
        waiting.join()
        for name, complaint in complaints.items():
            self.findings.note(name, complaint)
        self.group(staying, {})
        self.neighbour.stop()
        self.control.stop()

    def alone(self):
        for countersign in (self.countersign, self.apart):
            if complaint := call_until("OK")(Probe(countersign, "healthy")):
                sys.exit(f"the healthy server is not there: {complaint}")
        self.neighbour, self.control = Neighbour(self.countersign), Neighbour(self.apart)
        # Their start does not count.
        begun = time.monotonic() + 1
        time.sleep(1 + ALONE)
        self.p99_alone, self.memory_alone = p99(self.neighbour.times(begun)), self.countersign.memory()
        self.findings.say(f"alone: {self.compared(begun)}, {self.memory_alone // 1024} MB")

    def compared(self, since):
        times, apart = self.neighbour.times(since), p99(self.control.times(since))
        slower = p99(times) / apart if apart else math.nan
        slowest = max(times, default=0) * 1000
        return f"p99 {p99(times):.2f} ms, {slower:.2f} times that apart; slowest {slowest:.0f} ms of {len(times)} calls"

    def group(self, cases, long):
        """Checks these beside those that take long; says what they cost the others."""
        if not cases:
            return
        begun = time.monotonic()
        self.countersign.forget_peak()
        self.countersign.reconfigure([*long, *cases])
        for name, complaint in check_group(self.countersign, cases).items():
            self.findings.note(name, complaint)
        peak = self.countersign.peak()
        self.memory_peak = max(self.memory_peak, peak)
        self.findings.say(f"{self.compared(begun)}, {(peak - self.memory_alone) // 1024:+} MB at most")

    def times(self):
        """In milliseconds."""
        times, apart = self.neighbour.times(self.begun), self.control.times(self.begun)
        ours = {"calls": len(times), "p99": p99(times), "slowest": max(times) * 1000}
        return {**ours, "p99_apart": p99(apart), "p99_alone": self.p99_alone}

    def judge_neighbour(self):
        """How much slower it is, is for a benchmark: other programs may run beside this one."""
        failures = self.neighbour.failures(self.begun)
        self.findings.note("neighbour-answers", failures and f"{len(failures)} wrong answers, first {failures[0]}")
        slowest = max(self.neighbour.times(self.begun))
        stalled = slowest > STALL_MAX and f"expected each call within {STALL_MAX} s, got {slowest:.1f} s"
        self.findings.note("neighbour-stalls", stalled)
        self.findings.say(f"neighbour: {self.compared(self.begun)}")

    def judge_memory(self):
        for name, memory in (("memory-peak", self.memory_peak), ("memory-end", self.countersign.memory())):
            more = memory - self.memory_alone
            self.findings.say(f"{name}: {memory // 1024} MB, {more / 1024:+.0f} MB")
            expected = f"expected at most {MEMORY_MAX // 1024:+} MB"
            self.findings.note(name, more > MEMORY_MAX and f"{expected}, got {more / 1024:+.0f} MB")

    def judge_leftovers(self):
        """Of servers that are not configured any more."""
        left = self.countersign.left(but=self.countersign.configured)
        self.findings.note("left-after-removal", left and f"expected no processes, got {left}")

    def judge_end(self):
        took, code = self.countersign.end(signal.SIGTERM)
        self.findings.say(f"SIGTERM: ended after {took:.1f} s with code {code}")
        self.findings.note("sigterm-exit", code and f"expected code 0, got {code}")
        left = self.countersign.left()
        self.findings.note("sigterm-leaves-nothing", left and f"expected no processes, got {left}")


def picked(cases, chosen):
    return {name: checks for name, checks in cases.items() if not chosen or name in chosen}


def kill_round(binary, chosen, findings):
    """What stays is there, and Countersign ends without a chance to tidy up."""
    countersign = Countersign(binary)
    try:
        cases = picked(STAYING, chosen)
        countersign.reconfigure(cases)
        check_group(countersign, cases)
        countersign.end(signal.SIGKILL)
        left = countersign.left()
        findings.note("sigkill-leaves-nothing", left and f"expected no processes, got {left}")
    finally:
        countersign.clean_up()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary", type=Path, help="Countersign")
    parser.add_argument("only", nargs="*", help="behaviours; all, where none is named")
    parser.add_argument("--times", type=Path, help="where to write how long the healthy server took")
    arguments = parser.parse_args()
    # Threads that wait for answers must not wait for those that read long ones.
    sys.setswitchinterval(0.0005)
    findings, binary = Findings(), arguments.binary.resolve()
    whole = Round(binary, findings)
    try:
        whole.run(arguments.only)
        whole.judge_neighbour()
        if arguments.times:
            arguments.times.write_text(json.dumps(whole.times()))
        whole.judge_memory()
        whole.judge_leftovers()
        whole.judge_end()
    finally:
        whole.countersign.clean_up()
        whole.apart.clean_up()
    kill_round(binary, arguments.only, findings)
    total = findings.good + len(findings.wrong)
    findings.say("done")
    print(f"{findings.good}/{total} behaviours")
    sys.exit(1 if findings.wrong else 0)


if __name__ == "__main__":
    main()
