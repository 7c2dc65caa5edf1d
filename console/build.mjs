// SPDX-License-Identifier: Apache-2.0
//
// Builds the console: one script and one style sheet, licences of what is in them. Does nothing if nothing changed since
// the last build, and contacts the registry only if package-lock.json did. Types, from the API's contract, are checked by
// --test, whose tools a build does without.
// Usage: node build.mjs FOLDER | --test | --format | --check, which only names the files that --format would change
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";

const home = dirname(fileURLToPath(import.meta.url));
const contract = join(home, "../controller/src/main/resources/openapi.yaml");
const schema = join(home, "generated/schema.ts");

function fail(message) {
  console.error(`console: ${message}`);
  process.exit(1);
}

function files(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .flatMap((entry) => (entry.isDirectory() ? files(join(folder, entry.name)) : [join(folder, entry.name)]))
    .sort();
}

function digest(names) {
  const hash = createHash("sha256").update(process.version);
  for (const name of names) {
    const text = readFileSync(name);
    hash.update(`${relative(home, name)} ${text.length}\n`).update(text);
  }
  return hash.digest("hex");
}

function run(command, ...args) {
  const done = spawnSync(command, args, { cwd: home, stdio: ["ignore", "inherit", "inherit"] });
  if (done.error) fail(`'${command}' cannot run: ${done.error.message}; scripts/install-deps installs it`);
  if (done.status !== 0) fail(`'${[command, ...args].join(" ")}' failed with exit code ${done.status}`);
}

/** What package-lock.json names, from npm's cache where that has it; `without` "--omit=dev", only what a build needs. */
function install(without = "") {
  const stamp = join(home, "node_modules/.fairlead");
  const lock = digest([join(home, "package-lock.json")]);
  const has = existsSync(stamp) ? readFileSync(stamp, "utf8") : "";
  if (has === lock || has === lock + without) return;
  const options = ["--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  run("npm", "ci", ...options, ...(without ? [without] : []));
  writeFileSync(stamp, lock + without);
}

/** Writes the contract's types, and checks all others. */
async function types() {
  const { default: typescript, astToString } = await import("openapi-typescript");
  const names = { rootTypes: true, rootTypesNoSchemaPrefix: true }; // Service, not components["schemas"]["Service"]
  const ast = await typescript(pathToFileURL(contract), { ...names, defaultNonNullable: false });
  mkdirSync(dirname(schema), { recursive: true });
  writeFileSync(schema, astToString(ast));
  run(process.execPath, "node_modules/typescript/bin/tsc", "--noEmit");
}

/** Licence texts of the packages that the bundle has. */
function licences(inputs) {
  const packages = new Set(
    Object.keys(inputs)
      .map((name) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(name)?.[1])
      .filter(Boolean),
  );
  return [...packages].sort().map((name) => {
    const folder = join(home, "node_modules", name);
    const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    if (!file) fail(`${name} ${version} has no licence file; allowed: packages that have one`);
    return `${name} ${version}, ${license}\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
  });
}

async function build(out) {
  const stamp = join(out, ".stamp");
  const sources = [...files(join(home, "src")), contract, join(home, "index.html")];
  for (const name of ["build.mjs", "package.json", "package-lock.json"]) {
    sources.push(join(home, name));
  }
  const now = digest(sources);
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === now) return;
  install("--omit=dev");
  const { build: bundle } = await import("esbuild");
  const done = await bundle({
    ...common,
    entryPoints: { console: join(home, "src/main.tsx") },
    outdir: out,
    write: false,
    minify: true,
    legalComments: "none",
    metafile: true,
    target: ["chrome105", "firefox110", "safari16"],
  });
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  const put = (name, content) => {
    writeFileSync(join(out, name), content);
    writeFileSync(join(out, `${name}.gz`), gzipSync(content, { level: 9 }));
  };
  let page = readFileSync(join(home, "index.html"), "utf8");
  for (const { path, contents } of done.outputFiles) {
    const name = relative(out, path);
    put(name, contents);
    const version = createHash("sha256").update(contents).digest("hex").slice(0, 16);
    page = page.replace(`/console/${name}"`, `/console/${name}?v=${version}"`);
  }
  put("index.html", page.replace(/<!--.*?-->\n/s, ""));
  put("icon.svg", readFileSync(join(home, "src/icon.svg")));
  put("licences.txt", licences(done.metafile.inputs).join(`\n${"-".repeat(80)}\n\n`));
  writeFileSync(stamp, now);
}

const common = {
  bundle: true,
  format: "esm",
  jsx: "automatic",
  jsxImportSource: "preact",
  sourcemap: false,
  charset: "utf8",
  absWorkingDir: home,
  logLevel: "warning",
};

/** Checks types, then runs every src/**.test.ts by node's own test runner. */
async function test() {
  install();
  await types();
  const { build: bundle } = await import("esbuild");
  const entryPoints = files(join(home, "src")).filter((name) => name.endsWith(".test.ts"));
  const outdir = join(home, "generated/test");
  rmSync(outdir, { recursive: true, force: true });
  await bundle({ ...common, entryPoints, outdir, platform: "node", outExtension: { ".js": ".mjs" } });
  const done = spawnSync(process.execPath, ["--test", ...files(outdir)], { cwd: home, encoding: "utf8" });
  if (done.status !== 0) {
    console.error(done.stdout + done.stderr);
    fail("tests of the console failed");
  }
  const passed = /^# pass (\d+)$/m.exec(done.stdout) ?? /^ℹ pass (\d+)$/m.exec(done.stdout);
  if (!passed || passed[1] === "0") fail(`no test ran: ${done.stdout}`);
  console.log(`console: ${passed[1]} tests passed`);
}

function prettier(what) {
  install();
  run(process.execPath, "node_modules/prettier/bin/prettier.cjs", what, "build.mjs", "src/**/*.{ts,tsx}");
}

const tasks = {
  "--test": test,
  "--format": () => prettier("--write"),
  "--check": () => prettier("--list-different"),
};
const [argument, more] = process.argv.slice(2);
if (!argument || more || (argument.startsWith("-") && !(argument in tasks)))
  fail(`wrong arguments; allowed: FOLDER, or one of ${Object.keys(tasks).join(", ")}`);
const out = resolve(argument);
process.chdir(home);
await (tasks[argument] ?? (() => build(out)))();
