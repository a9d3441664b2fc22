// Where the TypeScript compiler says that imports lead: `ts.resolveModuleName` with the options of the nearest
// `tsconfig.json`.
//
// usage: node typescript.cjs TYPESCRIPT ROOT   (TYPESCRIPT: the folder of the npm package `typescript`)
//
// Nothing is installed in ROOT. The packages of the workspace are put into `node_modules` as links, which is what every
// package manager does with them; packages that would have to be built first are then found or not as tsc finds them.

const fs = require("node:fs");
const path = require("node:path");

const ts = require(process.argv[2]);
const root = fs.realpathSync(process.argv[3]);
const SKIPPED = new Set(["node_modules", ".git", "dist", "build", "out", "coverage", "fixtures", "__fixtures__"]);

function* walk(folder) {
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    const whole = path.join(folder, entry.name);
    if (entry.isDirectory() && !SKIPPED.has(entry.name)) yield* walk(whole);
    else if (entry.isFile()) yield whole;
  }
}

const files = [...walk(root)].sort();

/** Links to the packages of the workspace, in the topmost `node_modules`. */
function link() {
  const linked = new Set();
  for (const file of files.filter((file) => path.basename(file) === "package.json" && path.dirname(file) !== root)) {
    const { name } = JSON.parse(fs.readFileSync(file, "utf8"));
    const folder = path.dirname(file);
    // Examples are not dependencies of anything, and some share a name.
    if (!name || linked.has(name) || !/^(packages|libs|tools)[^/]*\//.test(path.relative(root, folder))) continue;
    linked.add(name);
    const place = path.join(root, "node_modules", name);
    fs.mkdirSync(path.dirname(place), { recursive: true });
    if (!fs.existsSync(place)) fs.symlinkSync(folder, place);
  }
}

const configs = new Map();

/** The options of the nearest configuration above, with a cache of their own. */
function optionsFor(folder) {
  if (!configs.has(folder)) {
    const name = path.join(folder, "tsconfig.json");
    if (fs.existsSync(name)) configs.set(folder, parse(name));
    else configs.set(folder, folder === root ? resolver({}) : optionsFor(path.dirname(folder)));
  }
  return configs.get(folder);
}

function parse(name) {
  // What is not found, as a base that is not installed, is a message among others; the rest counts.
  const raw = ts.readConfigFile(name, ts.sys.readFile);
  const host = { ...ts.sys, readDirectory: () => [] };
  return resolver(ts.parseJsonConfigFileContent(raw.config ?? {}, host, path.dirname(name), undefined, name).options);
}

function resolver(options) {
  const canonical = (name) => name;
  return { options, cache: ts.createModuleResolutionCache(root, canonical, options) };
}

function* imports(file) {
  const { options, cache } = optionsFor(path.dirname(file));
  const format = ts.getImpliedNodeFormatForFile?.(file, undefined, ts.sys, options);
  const text = fs.readFileSync(file, "utf8");
  const settings = { languageVersion: ts.ScriptTarget.Latest, impliedNodeFormat: format };
  const source = ts.createSourceFile(file, text, settings, true);
  const literals = [];
  const visit = (node) => {
    const literal = specifier(node);
    if (literal && ts.isStringLiteralLike(literal)) literals.push(literal);
    ts.forEachChild(node, visit);
  };
  visit(source);
  for (const literal of literals) {
    const mode = ts.getModeForUsageLocation(source, literal, options);
    const found = ts.resolveModuleName(literal.text, file, options, ts.sys, cache, undefined, mode).resolvedModule;
    if (found) yield [literal.text, found.resolvedFileName];
  }
}

/** What names another module: imports, re-exports, `import()` as a value or as a type, `import x = require()`. */
function specifier(node) {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return node.moduleSpecifier;
  if (ts.isExternalModuleReference(node)) return node.expression;
  if (ts.isImportTypeNode(node)) return node.argument.literal;
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) return node.arguments[0];
  return undefined;
}

link();
for (const file of files.filter((name) => /\.[cm]?tsx?$/.test(name))) {
  for (const [written, target] of imports(file)) {
    const inside = path.relative(root, target);
    const outside = inside.startsWith("..") || inside.split(path.sep).includes("node_modules");
    if (outside || target === file) continue;
    console.log(JSON.stringify({ file: path.relative(root, file), import: written, targets: [inside] }));
  }
}
