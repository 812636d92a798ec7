// One bundle, inlined in every page. With `--out FILE` it is written elsewhere, to be compared.
import { build } from "esbuild";
import { fileURLToPath } from "node:url";

const at = process.argv.indexOf("--out");
const here = (path) => fileURLToPath(new URL(path, import.meta.url));
await build({
  entryPoints: [here("src/index.tsx")],
  absWorkingDir: here("."),
  bundle: true,
  minify: true,
  format: "iife",
  globalName: "suffice",
  target: "es2022",
  charset: "ascii",
  legalComments: "none",
  // `h(tag, props, ...children)` takes 2 KB less than the automatic runtime, which names `children`.
  jsx: "transform",
  jsxFactory: "h",
  jsxFragment: "Fragment",
  inject: [here("src/jsx.ts")],
  tsconfigRaw: {},
  banner: { js: "/* suffice; with Preact, (c) Jason Miller and others, MIT licence */" },
  outfile: at > 0 ? process.argv[at + 1] : here("../src/suffice/report/bundle.js"),
});
