// Builds ../dist, byte for byte the same from the same files: make console.
import { build } from "esbuild";
import { readFile, rm, writeFile } from "node:fs/promises";
import { basename } from "node:path";

const out = process.argv[2] ?? "../dist";
await rm(out, { recursive: true, force: true });
const { metafile } = await build({
  entryPoints: { app: "src/main.tsx", style: "src/console.css", icon: "src/icon.svg" },
  outdir: `${out}/files`,
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  loader: { ".svg": "copy" },
  bundle: true,
  splitting: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  minify: true,
  charset: "utf8",
  legalComments: "none",
  metafile: true,
  absWorkingDir: import.meta.dirname,
});
// The name of the file that an entry has become.
const named = (entry) => basename(Object.entries(metafile.outputs).find(([, o]) => (o.entryPoint ?? Object.keys(o.inputs)[0]) === entry)[0]);
const page = await readFile("src/index.html", "utf8");
const names = { "app.js": "src/main.tsx", "style.css": "src/console.css", "icon.svg": "src/icon.svg" };
await writeFile(`${out}/index.html`, page.replace(/(?<=files\/)[a-z.]+/g, (name) => named(names[name])));
