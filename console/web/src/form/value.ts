// JSON values as the form holds them: never changed in place, so that what is
// identical is unchanged.

import { Exact } from "../exact";

export type Json = Exact | null | boolean | number | string | Json[] | JsonObject | Draft;
export type JsonObject = { [name: string]: Json | undefined };
export type Path = readonly (string | number)[];

/** Draft is text in a field that is not a value yet, such as "12x" for a number. */
export class Draft {
  constructor(readonly text: string, readonly reason: string) {}
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Draft) && !(value instanceof Exact);
}

/** own returns a member of an object, and nothing that the object inherits. */
export function own<T>(object: { [name: string]: T } | undefined, name: string | number): T | undefined {
  return object !== undefined && Object.hasOwn(object, name) ? object[name] : undefined;
}

/** put sets a member also if it is called __proto__. */
export function put<T>(object: { [name: string]: T }, name: string, value: T): void {
  Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}

export function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (value instanceof Draft) return "draft";
  if (value instanceof Exact) return "number";
  return typeof value;
}

export function get(value: Json | undefined, path: Path): Json | undefined {
  for (const step of path) {
    if (Array.isArray(value)) value = value[step as number];
    else if (isObject(value)) value = own(value, step);
    else return undefined;
  }
  return value;
}

/** set returns the value with another one at a path. Undefined removes a member. */
export function set(value: Json | undefined, path: Path, to: Json | undefined): Json | undefined {
  if (path.length === 0) return to;
  const [step, ...rest] = path;
  if (Array.isArray(value)) {
    const items = value.slice();
    items[step as number] = set(items[step as number], rest, to) ?? null;
    return items;
  }
  const before = isObject(value) ? value : undefined;
  const inner = set(own(before, step!), rest, to);
  const object: JsonObject = { ...before };
  if (inner === undefined) delete object[step as string];
  else put(object, String(step), inner);
  return object;
}

export function equal(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, i) => equal(item, b[i]));
  }
  if (a instanceof Exact && b instanceof Exact) return a.text === b.text;
  if (!isObject(a) || !isObject(b)) return false;
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && equal(a[name], b[name]));
}

/** pointer returns the JSON Pointer of a path. */
export function pointer(path: Path): string {
  return path.map((step) => "/" + String(step).replace(/~/g, "~0").replace(/\//g, "~1")).join("");
}

/** steps returns the names and indexes, as text, of a JSON Pointer. */
export function steps(text: string): string[] {
  return text.split("/").slice(1).map((step) => step.replace(/~1/g, "/").replace(/~0/g, "~"));
}

/** drafts lists the paths of what is not a value yet. */
export function drafts(value: Json | undefined, path: Path = []): { path: Path; draft: Draft }[] {
  if (value instanceof Draft) return [{ path, draft: value }];
  if (Array.isArray(value)) return value.flatMap((item, i) => drafts(item, [...path, i]));
  if (isObject(value)) return Object.entries(value).flatMap(([name, member]) => drafts(member, [...path, name]));
  return [];
}

/** isBlank reports whether nothing in a value says anything. */
export function isBlank(value: Json | undefined): boolean {
  if (Array.isArray(value)) return value.length === 0;
  return isObject(value) ? Object.values(value).every(isBlank) : value === undefined || value === null || equal(value, false);
}
