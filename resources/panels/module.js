// What the advertising service adds to the pages of objects in the console.
import { files } from "./files.js";
import { locations } from "./locations.js";
import { preview } from "./preview.js";
import { reach } from "./targeting.js";

export { texts } from "./texts.js";

/** @type {import("../../console/web/src/module").Panel[]} */
export const panels = [
  { title: "targeting.title", types: ["lineitems", "creatives", "librarycreatives"], open: true, show: reach },
  { title: "preview.title", types: ["creatives"], show: preview },
  { title: "files.title", types: ["creatives"], lasts: true, show: files },
];

/** @type {import("../../console/web/src/module").Module["lookups"]} */
export const lookups = { locations };
