// What is sent: the difference between what was read and what is in the form; and what
// is done when somebody else has changed the object meanwhile.

import { Choices, Schema, declared, itemSchema, lookedUp, memberSchema, shapeOf, target } from "./schema";
import { Json, JsonObject, Path, equal, isObject, own, put } from "./value";

export interface Name {
  name?: string;
  url?: string;
  about?: string;
}

/** Names are what references were called in responses, by type and id. */
export type Names = Map<string, Name>;

export const nameKey = (type: string, id: string) => type + " " + id;

export const none: Choices = new Map();

/** stored returns a value as it is stored: references are ids. Their names are kept. */
export function stored(root: Schema, schema: unknown, value: Json | undefined, names: Names): Json | undefined {
  if (value === undefined || value === null || typeof value !== "object") return value;
  const shape = shapeOf(root, schema, value, [], none);
  const to = target(shape);
  if (to) {
    if (!isObject(value) || typeof value.id !== "string") return value;
    const known: Name = {};
    if (typeof value.name === "string") known.name = value.name;
    if (typeof value.url === "string") known.url = value.url;
    names.set(nameKey(to.type, value.id), known);
    return to.form === "object" ? { id: value.id } : value.id;
  }
  const list = lookedUp(shape);
  if (list !== undefined && isObject(value) && value.id !== undefined) {
    const { id, name, ...others } = value;
    const about = Object.values(others).filter((one) => typeof one === "string").join(" · ");
    names.set(nameKey(list, String(id)), { about, ...(typeof name === "string" && { name }) });
    return { id };
  }
  if (Array.isArray(value)) return value.map((item, i) => stored(root, itemSchema(shape, i), item, names) ?? null);
  if (!isObject(value)) return value;
  const out: JsonObject = {};
  for (const [name, member] of Object.entries(value)) put(out, name, stored(root, memberSchema(shape, name), member, names));
  return out;
}

interface Shown {
  schema: unknown;
  choices: Choices;
  value: Json | undefined;
}

/** What is looked through with choices, and without, as what was read is. */
const shown = [new WeakMap<object, Shown>(), new WeakMap<object, Shown>()] as const;

/** visible returns a value without what conditions hide. What is unchanged is looked through once. */
export function visible(root: Schema, schema: unknown, value: Json | undefined, choices: Choices, path: Path = []): Json | undefined {
  if (!Array.isArray(value) && !isObject(value)) return value;
  const looked = shown[choices.size > 0 ? 0 : 1];
  const known = looked.get(value);
  if (known && known.schema === schema && known.choices === choices) return known.value;
  const now = { schema, choices, value: look(root, schema, value, choices, path) };
  looked.set(value, now);
  return now.value;
}

function look(root: Schema, schema: unknown, value: Json[] | JsonObject, choices: Choices, path: Path): Json {
  const shape = shapeOf(root, schema, value, path, choices);
  if (target(shape)) return value;
  if (Array.isArray(value)) {
    const items = value.map((item, i) => visible(root, itemSchema(shape, i), item, choices, [...path, i]) ?? null);
    return items.every((item, i) => item === value[i]) ? value : items;
  }
  const all = declared(root, schema);
  const out: JsonObject = {};
  let same = true;
  for (const [name, member] of Object.entries(value)) {
    const inner = memberSchema(shape, name);
    if (inner === false || (all.has(name) && own(shape.schema.properties, name) === undefined && member !== undefined)) {
      same = false;
      continue;
    }
    const kept = visible(root, inner, member, choices, [...path, name]);
    same &&= kept === member;
    put(out, name, kept);
  }
  return same ? value : out;
}

/** Change is a request that changes what differs. */
export interface Change {
  method: "PATCH" | "PUT";
  body: JsonObject;
}

/** changeOf returns what must be sent to change one object into another, undefined for nothing. What was read, and is the same
 * now that no condition hides it any more, is not sent. A merge patch cannot set a member to null: then the properties in which
 * that is needed are sent as a whole. */
export function changeOf(from: JsonObject, to: JsonObject, read: JsonObject = from): Change | undefined {
  const state = { whole: false };
  const patch = difference(from, to, read, state);
  if (Object.keys(patch).length === 0) return undefined;
  if (!state.whole) return { method: "PATCH", body: patch };
  const body: JsonObject = {};
  for (const name of Object.keys(patch)) put(body, name, own(to, name) ?? null);
  return { method: "PUT", body };
}

function difference(from: JsonObject, to: JsonObject, read: Json | undefined, state: { whole: boolean }): JsonObject {
  const patch: JsonObject = {};
  for (const name of new Set([...Object.keys(from), ...Object.keys(to)])) {
    const there = isObject(read) ? own(read, name) : undefined;
    const before = own(from, name), after = own(to, name);
    if (equal(before, after) || equal(there, after)) continue;
    if (after === undefined) put(patch, name, null);
    else if (isObject(before ?? there) && isObject(after)) {
      const inner = difference(isObject(before) ? before : {}, after, there, state);
      if (Object.keys(inner).length > 0) put(patch, name, inner);
    } else {
      put(patch, name, after);
      state.whole ||= after === null || hasNull(after);
    }
  }
  return patch;
}

/** hasNull reports whether a member of an object is null, which a merge patch would remove. */
function hasNull(value: Json): boolean {
  return isObject(value) && Object.values(value).some((member) => member === null || (member !== undefined && hasNull(member)));
}

/** Difference is a field that has been changed on one side or on both. */
export interface Difference {
  path: Path;
  ancestor: Json | undefined;
  yours: Json | undefined;
  theirs: Json | undefined;
}

/** Merge is what follows from two changes of one object: what only one side has changed is in merged, which
 * has yours where both did. */
export interface Merge {
  merged: JsonObject;
  conflicts: Difference[];
  yours: Difference[];
  theirs: Difference[];
}

export function merge(ancestor: JsonObject, yours: JsonObject, theirs: JsonObject): Merge {
  const out: Merge = { merged: {}, conflicts: [], yours: [], theirs: [] };
  out.merged = join(ancestor, yours, theirs, [], out);
  return out;
}

function join(ancestor: JsonObject, yours: JsonObject, theirs: JsonObject, path: Path, out: Merge): JsonObject {
  const merged: JsonObject = {};
  for (const name of new Set([...Object.keys(theirs), ...Object.keys(yours)])) {
    const a = own(ancestor, name), y = own(yours, name), t = own(theirs, name);
    const at = [...path, name];
    const difference = { path: at, ancestor: a, yours: y, theirs: t };
    let value: Json | undefined = y;
    if (isObject(y) && isObject(t) && (a === undefined || isObject(a)) && !equal(y, t)) value = join(a ?? {}, y, t, at, out);
    else if (equal(y, t)) value = t;
    else if (equal(y, a)) {
      value = t;
      out.theirs.push(difference);
    } else if (equal(t, a)) out.yours.push(difference);
    else out.conflicts.push(difference);
    if (value !== undefined) put(merged, name, value);
  }
  return merged;
}

/** initial returns what a new object has in its form: nothing but the objects and arrays that it must have. */
export function initial(root: Schema, schema: unknown, depth = 0): JsonObject {
  const shape = shapeOf(root, schema, undefined, [], none);
  const out: JsonObject = {};
  for (const name of (shape.schema.required ?? []) as string[]) {
    const inner = memberSchema(shape, name);
    const member = shapeOf(root, inner, undefined, [], none);
    const s = member.schema;
    if (target(member) || lookedUp(member) || s.default !== undefined || s.readOnly || member.alternatives || depth > 8) continue;
    if (member.type === "array" && own(shape.schema.properties, name)) put(out, name, []);
    if (member.type === "object" && s.properties) put(out, name, initial(root, inner, depth + 1));
  }
  return out;
}
