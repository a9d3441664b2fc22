// The TypeScript client of MCP against Countersign: `client.mjs PROGRAM URL`.
//
// Speaks to `PROGRAM mcp` over stdio and to URL over HTTP, in both protocol eras. What it calls it learns from the
// server alone: every tool with every example of its contract. Then it writes to the memory, as a client whose user can
// be asked. Prints what was wrong, and how much was asked.

import { existsSync, readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

const VERSIONS = { auto: '2026-07-28', legacy: '2025-11-25' };
// An example's arguments are valid, so these are never the right answer to one; all others can be due to the state of
// the server: nothing to find in an empty folder, nobody there to approve.
const NEVER = ['VALIDATION_ERROR', 'CONTRACT_VIOLATION', 'DATABASE_ERROR', 'INTERNAL_ERROR'];
const INVALID_PARAMS = -32602;
// The legacy revisions had a code of its own for this.
const NOT_FOUND = [INVALID_PARAMS, -32002];
// Below the folder in which client and servers run.
const MEMORY = { folder: '.claude/memory', file: 'best_practices.md' };
// How long one answer may take, in milliseconds; over the server's own limits.
const PATIENCE = { timeout: 60_000 };

// One connection; `wrong` collects what should have been different.
class Session {
  constructor(client, name) {
    Object.assign(this, { client, name, wrong: [], asked: { resources: 0, examples: 0, 'of them refused': 0, mistakes: 0 } });
  }

  expect(condition, message) {
    if (!condition) this.wrong.push(`${this.name}: ${message}`);
  }

  async check(mode) {
    const version = this.client.getNegotiatedProtocolVersion();
    this.expect(version === VERSIONS[mode], `speaks ${version}`);
    const tools = await this.tools();
    const contracts = await this.contracts(tools.map((tool) => tool.name));
    for (const tool of tools.filter((tool) => contracts.has(tool.name))) {
      await this.checkTool(tool, contracts.get(tool.name));
    }
    await this.fails(this.client.callTool({ name: 'no_such_tool', arguments: {} }), [INVALID_PARAMS], 'an unknown tool');
    return tools.map((tool) => tool.name);
  }

  // Twice: the order is the same each time. `refresh` keeps the answer, by which the client checks results itself.
  async tools() {
    const list = async () => (await this.client.listTools({}, { cacheMode: 'refresh', ...PATIENCE })).tools;
    const [once, again] = [await list(), await list()];
    this.expect(once.length > 0, 'no tools');
    const names = (tools) => tools.map((tool) => tool.name).join(' ');
    this.expect(names(once) === names(again), `tools come in another order: ${names(once)}, then ${names(again)}`);
    return once;
  }

  // The contract documents, by tool; every tool has one.
  async contracts(names) {
    const { resources } = await this.client.listResources({}, PATIENCE);
    const documents = new Map();
    for (const { uri } of resources) {
      const { contents } = await this.client.readResource({ uri }, PATIENCE);
      this.expect(contents.length === 1, `${uri} has ${contents.length} parts`);
      const document = JSON.parse(contents[0].text);
      documents.set(document.title, document);
      this.expect(uri === `contract://${document.title}`, `${uri} is about something else`);
      this.asked.resources += 1;
    }
    const documented = [...documents.keys()].sort().join(' ');
    this.expect(documented === [...names].sort().join(' '), `tools ${names}, contracts ${documented}`);
    await this.fails(this.client.readResource({ uri: 'contract://no_such_tool' }), NOT_FOUND, 'an unknown resource');
    return documents;
  }

  async checkTool(tool, contract) {
    const output = validator(tool.outputSchema);
    const [success, error] = contract.properties.output.oneOf.map(validator);
    this.expect(isDeepStrictEqual(tool.inputSchema, contract.properties.input), `${tool.name}: another input schema`);
    this.expect(contract.examples.length > 0, `${tool.name}: no examples`);

    const call = async (args, asked) => {
      const result = await this.client.callTool({ name: tool.name, arguments: args }, PATIENCE);
      const [value, isError, what] = [result.structuredContent, result.isError ?? false, `${tool.name} with ${asked}`];
      const shown = JSON.stringify(value);
      this.expect(output(value), `${what}: ${ajv.errorsText(output.errors)}: ${shown}`);
      this.expect(success(value) !== isError, `${what}: isError is ${isError}: ${shown}`);
      this.expect(error(value) === isError, `${what}: isError is ${isError}: ${shown}`);
      const text = result.content.find((block) => block.type === 'text')?.text;
      this.expect(text && isDeepStrictEqual(JSON.parse(text), value), `${what}: the text says something else: ${text}`);
      return value;
    };

    for (const example of contract.examples) {
      const what = JSON.stringify(example.input);
      this.expect(output(example.output), `${tool.name}: the example's own output is not valid`);
      const value = await call(example.input, what);
      const expected = error(example.output) ? example.output.code : undefined;
      const code = error(value) ? value.code : undefined;
      const explained = expected === undefined && !NEVER.includes(code);
      this.expect(code === expected || explained, `${tool.name} with ${what}: ${JSON.stringify(value)}`);
      this.asked.examples += 1;
      this.asked['of them refused'] += code === undefined ? 0 : 1;
    }
    for (const [what, args] of mistakes(tool.inputSchema, contract.examples[0].input)) {
      const value = await call(args, what);
      this.expect(value.code === 'VALIDATION_ERROR', `${tool.name} with ${what}: ${JSON.stringify(value)}`);
      this.asked.mistakes += 1;
    }
  }

  async fails(request, codes, what) {
    try {
      this.expect(false, `${what}: an answer: ${JSON.stringify(await request)}`);
    } catch (err) {
      this.expect(codes.includes(err.code), `${what}: error ${err.code} \`${err.message}\``);
    }
  }
}

// A user who agrees, and one who does not: the tool runs for the first one only. Gives what was wrong.
async function checkApprovals(transport, mode, name) {
  const wrong = [];
  for (const action of ['accept', 'decline']) {
    const [entry, shown] = [`- ${name}, TypeScript, ${action}`, []];
    const capabilities = { elicitation: { form: {} } };
    const client = new Client({ name: 'asking', version: '1.0.0' }, { capabilities, versionNegotiation: { mode } });
    client.setRequestHandler('elicitation/create', async (request) => {
      shown.push(request.params.message);
      return action === 'accept' ? { action, content: {} } : { action };
    });
    await client.connect(transport(), PATIENCE);
    const args = { file: MEMORY.file, entry };
    const result = await client.callTool({ name: 'write_memory_entry', arguments: args }, PATIENCE);
    await client.close();
    const value = result.structuredContent;
    const right = action === 'accept' ? value.success === true : value.code === 'APPROVAL_DENIED';
    if (!right || shown.length !== 1 || !shown[0].includes(entry)) {
      wrong.push(`${name}: ${action}: ${JSON.stringify(value)}, shown ${JSON.stringify(shown)}`);
    }
    const path = `${MEMORY.folder}/${MEMORY.file}`;
    const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [];
    const written = lines.filter((line) => line === entry).length;
    if (written !== (action === 'accept' ? 1 : 0)) wrong.push(`${name}: ${action}: the entry is there ${written} times`);
  }
  return wrong;
}

// Strict: a keyword or format that it does not know is an error.
const ajv = addFormats(new Ajv2020({ allErrors: true, strict: true, strictTypes: false }));

function validator(schema) {
  return ajv.compile(schema);
}

// Arguments that no schema like this can allow: one argument too many, of a wrong type, or too few.
function* mistakes(schema, valid) {
  yield ['an unknown argument', { ...valid, no_such_argument: 1 }];
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    // Definitions that it refers to are at the root. `true` allows everything.
    const allowed = validator({ allOf: [property], $defs: schema.$defs ?? {} });
    const wrong = [1234, [{ a: 1 }], { a: 1 }].find((value) => !allowed(value));
    if (wrong !== undefined) yield [`\`${name}\` of a wrong type`, { ...valid, [name]: wrong }];
  }
  for (const name of schema.required ?? []) {
    const { [name]: _, ...rest } = valid;
    yield [`no \`${name}\``, rest];
  }
}

const [program, url] = process.argv.slice(2);
const servers = {
  stdio: () => new StdioClientTransport({ command: program, args: ['mcp'] }),
  HTTP: () => new StreamableHTTPClientTransport(new URL(url)),
};
const wrong = [];
const orders = new Set();
for (const [wire, transport] of Object.entries(servers)) {
  for (const mode of Object.keys(VERSIONS)) {
    const client = new Client({ name: 'peer', version: '1.0.0' }, { versionNegotiation: { mode } });
    const session = new Session(client, `${wire} ${VERSIONS[mode]}`);
    try {
      await client.connect(transport(), PATIENCE);
      orders.add((await session.check(mode)).join(' '));
    } catch (err) {
      // The other connections still have something to say.
      session.expect(false, `gave up: ${err.stack}`);
    }
    await client.close();
    try {
      wrong.push(...(await checkApprovals(transport, mode, session.name)));
    } catch (err) {
      session.expect(false, `gave up asking: ${err.stack}`);
    }
    wrong.push(...session.wrong);
    const asked = Object.entries(session.asked).map(([what, count]) => `${count} ${what}`);
    console.log(`${session.name} ${asked.join(', ')}, asked`);
  }
}
if (orders.size > 1) wrong.push(`the order of tools depends on the wire: ${[...orders].join('; ')}`);
for (const message of wrong) console.log(`WRONG ${message}`);
// Not `process.exit`: what was printed has to arrive first.
process.exitCode = wrong.length > 0 ? 1 : 0;
