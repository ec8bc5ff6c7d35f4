// Finds texts that are not in the catalogue: literals, of the console and of the panels of the
// advertising service, that have several words or a capital, or are all that an element has.
import { transform } from "esbuild";
import { readdir, readFile } from "node:fs/promises";
import { extname, join } from "node:path";

/** Literals that nobody reads. */
const known = new Set([
  ...["Enter", "Escape", "Strict", "Bearer ${}", "is null", "is not null", "not in"],
  ...["form besides", "selection nothing", "button primary", ".actions button", "main h1", "main tbody th a, main li.row > a"],
]);
// Regular expressions are found, too, as their quotes begin no literal.
const regular = String.raw`(?<=[=>(,:!&|?{;])\/(?![*/])(?:[^\\/[\n]|\\.|\[(?:[^\\\]\n]|\\.)*\])+\/`;
const literal = new RegExp(String.raw`${regular}|(?<before>class:|children:|)(?<quote>["'${"`"}])(?<text>(?:\\.|(?!\k<quote>)[^\\])*)\k<quote>(?<after>in )?`, "gs");
// What is filled into a template, also with objects in it.
const braces = (depth) => (depth === 0 ? "[^{}]*" : `(?:[^{}]|\\{${braces(depth - 1)}\\})*`);
const value = new RegExp(`\\$\\{${braces(3)}\\}`, "g");
const prose = /[\p{L}}] +\p{L}|\p{L} +\$|\p{L}{2} $|^ \p{L}{2}|^\p{Lu}\p{Ll}+[.…!?:]?$/u;

let found = 0;
for (const folder of ["src", "../../resources/panels"]) {
  for (const name of await readdir(folder, { recursive: true })) {
    const path = join(folder, name);
    if (!/\.(tsx?|js)$/.test(path) || /\btexts\.\w+$/.test(path)) continue;
    const { code } = await transform(await readFile(path, "utf8"), { loader: extname(path).slice(1), jsx: "automatic", minifyWhitespace: true, charset: "utf8" });
    for (const { groups } of code.matchAll(literal)) {
      const text = (groups.text ?? "").replace(value, "${}");
      if (groups.before === "class:" || groups.after || known.has(text)) continue;
      if (!prose.test(text) && !(groups.before && /\p{L}/u.test(text))) continue;
      console.error(`${path}: "${text}" is not in the catalogue of texts`);
      found++;
    }
  }
}
process.exitCode = found > 0 ? 1 : 0;
