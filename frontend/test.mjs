// The tests are TypeScript: each is bundled to a scratch folder, and node's own runner runs them.
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("test", import.meta.url));
const out = mkdtempSync(join(tmpdir(), "suffice-test-"));
const files = readdirSync(folder).filter((name) => name.endsWith(".test.ts"));
await build({
  entryPoints: files.map((name) => join(folder, name)),
  bundle: true,
  platform: "node",
  format: "esm",
  outExtension: { ".js": ".mjs" },
  jsx: "automatic",
  jsxImportSource: "preact",
  outdir: out,
});
const made = files.map((name) => join(out, name.replace(/\.ts$/, ".mjs")));
const { status } = spawnSync(process.execPath, ["--test", ...made], { stdio: "inherit" });
rmSync(out, { recursive: true });
process.exit(status ?? 1);
