// Values in the cells of CSV, by the schema of their property.

import { integer, parseJson } from "../exact";
import { Schema, itemSchema, label, membersOf, shapeOf, target, type Choices } from "../form/schema";
import { Json, JsonObject, isObject, own, put } from "../form/value";
import { explain, type Message } from "../texts";
import { defused, plain } from "./csv";

const none: Choices = new Map();

/** A property that can be imported, by its path. */
export interface Place {
  path: string;
  title: string;
  schema: unknown;
}

/** places lists the properties that can be written, also those under a condition, and the members of objects among them. */
export function places(root: Schema): Place[] {
  const found: Place[] = [];
  const add = (schema: Schema, before: string, words: string, depth: number) => {
    for (const [name, written] of membersOf(root, schema)) {
      const inner = shapeOf(root, written, undefined, [], none);
      const s = inner.schema;
      if (s.readOnly || s["x-derived"] || s["x-sequence"] || name.includes(".")) continue;
      const place = { path: before + name, title: words + label(name, written), schema: written };
      found.push(place);
      if (inner.type === "object" && !target(inner) && depth < 4) add(written, place.path + ".", place.title + " › ", depth + 1);
    }
  };
  add(root, "", "", 0);
  return found;
}

const like = (text: string) => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");

/** matching returns the path of the property that a column is probably for, or nothing. */
export function matching(all: Place[], name: string): string {
  const exact = all.find(({ path }) => path === name) ?? all.find(({ path, title }) => like(name) !== "" && (like(path) === like(name) || like(title) === like(name)));
  return exact?.path ?? "";
}

/** placed sets a member of an object at a path. */
export function placed(object: JsonObject, path: string, value: Json): void {
  const names = path.split(".");
  let at = object;
  for (const name of names.slice(0, -1)) {
    if (!isObject(own(at, name))) put(at, name, {});
    at = own(at, name) as JsonObject;
  }
  put(at, names.at(-1)!, value);
}

/** read returns the value of a cell. What does not fit is kept as text, for the service to refuse. */
export function read(root: Schema, schema: unknown, cell: string): Json {
  const text = plain(cell);
  const shape = shapeOf(root, schema, undefined, [], none);
  const types = [shape.schema.type ?? shape.alternatives?.branches.map(({ type }) => type) ?? []].flat();
  if (target(shape) || types.includes("string")) return text;
  if (types.includes("array")) {
    if (text.startsWith("[")) return parsed(text);
    return text.split(";").map((item) => read(root, itemSchema(shape, 0), item));
  }
  if ((types.includes("number") || types.includes("integer")) && /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text)) return /^-?\d+$/.test(text) ? ((integer(text) as Json | null) ?? text) : Number(text);
  if (types.includes("boolean") && /^(true|false)$/i.test(text)) return text.toLowerCase() === "true";
  return /^[{[]/.test(text) ? parsed(text) : text;
}

function parsed(text: string): Json {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

/** written returns the text of a value in a cell: references are ids. */
export function written(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return defused(value);
  if (typeof value !== "object") return String(value);
  if (Array.isArray(value)) {
    const items = value.map((item) => (isMessage(item) ? explain(item) : idOf(item) ?? item));
    if (items.every((item) => typeof item !== "object" && !String(item).includes(";"))) return defused(items.join(";"));
  }
  return idOf(value) !== undefined ? defused(idOf(value)!) : JSON.stringify(value);
}

const isMessage = (value: any): value is Message => typeof value?.code === "string" && typeof value.text === "string";

/** idOf returns the id of a reference, as the service returns it. */
function idOf(value: any): string | undefined {
  return typeof value?.id === "string" && Object.keys(value).every((name) => ["id", "name", "url"].includes(name)) ? value.id : undefined;
}

