"""The Python client of MCP against Countersign: `client.py PROGRAM URL`.

Speaks to `PROGRAM mcp` over stdio and to URL over HTTP, in both protocol eras. What it calls it learns from the server
alone: every tool with every example of its contract. Then it writes to the memory, as a client whose user can be
asked. Prints what was wrong, and how much was asked.
"""

import asyncio
import json
import sys
import traceback
from collections import Counter
from pathlib import Path

from jsonschema import Draft202012Validator
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp.types import ElicitResult

VERSIONS = {"auto": "2026-07-28", "legacy": "2025-11-25"}
# An example's arguments are valid, so these are never the right answer to one; all others can be due to the state of
# the server: nothing to find in an empty folder, nobody there to approve.
NEVER = {"VALIDATION_ERROR", "CONTRACT_VIOLATION", "DATABASE_ERROR", "INTERNAL_ERROR"}
INVALID_PARAMS = -32602
# The legacy revisions had a code of its own for this.
NOT_FOUND = {INVALID_PARAMS, -32002}
# Below the folder in which client and servers run.
MEMORY = Path(".claude/memory/best_practices.md")
# How long one answer may take; over the server's own limits.
PATIENCE = 60


class Session:
    """One connection; `wrong` collects what should have been different."""

    def __init__(self, name):
        self.client, self.name = None, name
        self.wrong, self.asked = [], Counter()

    def expect(self, condition, message):
        if not condition:
            self.wrong.append(f"{self.name}: {message}")

    async def check(self, mode):
        version = self.client.protocol_version
        self.expect(version == VERSIONS[mode], f"speaks {version}")
        tools = await self.tools()
        contracts = await self.contracts({tool.name for tool in tools})
        for tool in tools:
            if tool.name in contracts:
                await self.check_tool(tool, contracts[tool.name])
        await self.fails(self.client.call_tool("no_such_tool", {}), {INVALID_PARAMS}, "an unknown tool")
        return [tool.name for tool in tools]

    async def tools(self):
        """Twice: the order is the same each time."""
        once, again = [await all_of(self.client.list_tools, "tools") for _ in range(2)]
        self.expect(once, "no tools")
        self.expect([tool.name for tool in once] == [tool.name for tool in again], "tools come in another order")
        return once

    async def contracts(self, names):
        """The contract documents, by tool; every tool has one."""
        documents = {}
        for resource in await all_of(self.client.list_resources, "resources"):
            contents = (await self.client.read_resource(resource.uri)).contents
            self.expect(len(contents) == 1, f"{resource.uri} has {len(contents)} parts")
            document = json.loads(contents[0].text)
            documents[document["title"]] = document
            self.expect(resource.uri == f"contract://{document['title']}", f"{resource.uri} is about something else")
            self.asked["resources"] += 1
        self.expect(documents.keys() == names, f"tools {sorted(names)}, contracts {sorted(documents)}")
        await self.fails(self.client.read_resource("contract://no_such_tool"), NOT_FOUND, "an unknown resource")
        return documents

    async def check_tool(self, tool, contract):
        output = validator(tool.output_schema)
        success, error = map(validator, contract["properties"]["output"]["oneOf"])
        self.expect(tool.input_schema == contract["properties"]["input"], f"{tool.name}: another input schema")
        self.expect(contract["examples"], f"{tool.name}: no examples")

        async def call(arguments, what):
            result = await self.client.call_tool(tool.name, arguments)
            value, what = result.structured_content, f"{tool.name} with {what}"
            for problem in output.iter_errors(value):
                self.expect(False, f"{what}: {problem.json_path}: {problem.message}: {value}")
            self.expect(success.is_valid(value) != bool(result.is_error), f"{what}: isError is {result.is_error}: {value}")
            self.expect(error.is_valid(value) == bool(result.is_error), f"{what}: isError is {result.is_error}: {value}")
            texts = [block.text for block in result.content if block.type == "text"]
            self.expect(texts and json.loads(texts[0]) == value, f"{what}: the text says something else: {texts}")
            return value

        for example in contract["examples"]:
            what = json.dumps(example["input"])
            self.expect(output.is_valid(example["output"]), f"{tool.name}: the example's own output is not valid")
            value = await call(example["input"], what)
            expected = example["output"].get("code") if error.is_valid(example["output"]) else None
            code = value.get("code") if error.is_valid(value) else None
            self.expect(code == expected or expected is None and code not in NEVER, f"{tool.name} with {what}: {value}")
            self.asked["examples"] += 1
            self.asked["of them refused"] += code is not None
        for what, arguments in mistakes(tool.input_schema, contract["examples"][0]["input"]):
            value = await call(arguments, what)
            self.expect(value.get("code") == "VALIDATION_ERROR", f"{tool.name} with {what}: {value}")
            self.asked["mistakes"] += 1

    async def fails(self, request, codes, what):
        try:
            answer = await request
            self.expect(False, f"{what}: an answer: {answer}")
        except MCPError as err:
            self.expect(err.code in codes, f"{what}: error {err.code} `{err.message}`")


async def check_approvals(server, mode, name):
    """A user who agrees, and one who does not: the tool runs for the first one only. Gives what was wrong."""
    wrong = []
    for action in ("accept", "decline"):
        entry, shown = f"- {name}, Python, {action}", []

        async def answer(_context, params, action=action, shown=shown):
            shown.append(params.message)
            return ElicitResult(action=action, content={} if action == "accept" else None)

        async with Client(server, mode=mode, read_timeout_seconds=PATIENCE, elicitation_callback=answer) as client:
            result = await client.call_tool("write_memory_entry", {"file": MEMORY.name, "entry": entry})
        value = result.structured_content
        expected = {"success": True} if action == "accept" else {"code": "APPROVAL_DENIED"}
        if not expected.items() <= value.items() or len(shown) != 1 or entry not in shown[0]:
            wrong.append(f"{name}: {action}: {value}, shown {shown}")
        written = MEMORY.read_text().splitlines().count(entry) if MEMORY.exists() else 0
        if written != (action == "accept"):
            wrong.append(f"{name}: {action}: the entry is there {written} times")
    return wrong


async def all_of(list_page, field):
    """The items of all pages, from the server and not from the client's cache."""
    items, cursor = [], None
    while True:
        page = await list_page(cursor=cursor, cache_mode="bypass")
        items += getattr(page, field)
        cursor = page.next_cursor
        if cursor is None:
            return items


def validator(schema):
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)


def mistakes(schema, valid):
    """Arguments that no schema like this can allow: one argument too many, of a wrong type, or too few."""
    yield "an unknown argument", {**valid, "no_such_argument": 1}
    for name, property in schema.get("properties", {}).items():
        # Definitions that it refers to are at the root. `True` allows everything.
        allowed = validator({"allOf": [property], "$defs": schema.get("$defs", {})})
        wrong = next((value for value in (1234, [{"a": 1}], {"a": 1}) if not allowed.is_valid(value)), None)
        if wrong is not None:
            yield f"`{name}` of a wrong type", {**valid, name: wrong}
    for name in schema.get("required", []):
        yield f"no `{name}`", {key: value for key, value in valid.items() if key != name}


async def main(program, url):
    servers = {"stdio": StdioServerParameters(command=program, args=["mcp"]), "HTTP": url}
    wrong, orders = [], {}
    for wire, server in servers.items():
        for mode in VERSIONS:
            session = Session(f"{wire} {VERSIONS[mode]}")
            try:
                async with Client(server, mode=mode, read_timeout_seconds=PATIENCE) as session.client:
                    orders[session.name] = await session.check(mode)
            except Exception as err:  # The other connections still have something to say.
                traceback.print_exception(err)
                session.expect(False, f"gave up: {err!r}")
            try:
                wrong += await check_approvals(server, mode, session.name)
            except Exception as err:
                traceback.print_exception(err)
                session.expect(False, f"gave up asking: {err!r}")
            wrong += session.wrong
            print(session.name, *(f"{count} {what}," for what, count in session.asked.items()), "asked")
    if len({tuple(order) for order in orders.values()}) > 1:
        wrong.append(f"the order of tools depends on the wire: {orders}")
    for message in wrong:
        print("WRONG", message)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:])))
