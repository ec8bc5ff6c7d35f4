// What a schema says of a value at this moment: the parts of it that apply are put
// together, and alternatives are chosen.

import { expression } from "../pattern";
import { brief, visible } from "../texts";
import { hasType, matches } from "./match";
import { Json, Path, equal, isBlank, isObject, own, pointer, put } from "./value";

// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Schema = { [keyword: string]: any };

/** Alternatives are the branches of a value of which the user chooses one. */
export interface Alternatives {
  branches: Schema[];
  chosen: number;
}

/** Shape is what a schema says of a value, without applicators of the same value. */
export interface Shape {
  schema: Schema;
  /** type is undefined if the value can be of several types, or of any. */
  type: string | undefined;
  nullable: boolean;
  alternatives?: Alternatives;
  /** What the values of an enum are called, if branches say so. */
  titles?: Title[];
}

export type Title = [value: Json, title: string];

/** Choices are the alternatives that the user has chosen, by JSON Pointer. */
export type Choices = ReadonlyMap<string, number>;

export function deref(root: Schema, ref: string): Schema {
  if (ref === "#") return root;
  const steps = ref.slice(2).split("/").map((step) => decodeURIComponent(step).replace(/~1/g, "/").replace(/~0/g, "~"));
  return steps.reduce((schema, step) => own(schema, step) ?? {}, root) as Schema;
}

interface Collected {
  parts: Schema[];
  decisions: string;
  nullable: boolean;
  alternatives?: Alternatives;
  titles?: Title[];
  discriminator?: { name: string; values: Json[]; required: boolean };
}

const cache = new WeakMap<Schema, Map<string, Shape>>();

/** shapeOf returns what applies to a value. It is the same one as long as the decisions that
 * conditions lead to are the same. */
export function shapeOf(root: Schema, schema: unknown, value: Json | undefined, path: Path, choices: Choices): Shape {
  const s: Schema = isObject(schema) ? schema : {};
  const found: Collected = { parts: [], decisions: "", nullable: false };
  collect(root, s, value, () => choices.get(pointer(path)), found);
  let known = cache.get(s);
  if (!known) cache.set(s, (known = new Map()));
  let shape = known.get(found.decisions);
  if (!shape) known.set(found.decisions, (shape = combine(found)));
  return shape;
}

function collect(root: Schema, s: Schema, value: Json | undefined, choice: () => number | undefined, to: Collected): void {
  to.parts.push(s);
  if (s["x-ref"] !== undefined) return; // what it refers to describes the forms of a reference
  const inner = (schema: unknown) => isObject(schema) && collect(root, schema, value, choice, to);
  if (s.$ref !== undefined) inner(deref(root, s.$ref));
  for (const part of s.allOf ?? []) inner(part);
  if (s.if !== undefined) {
    const holds = matches(root, s.if, value ?? {});
    to.decisions += holds ? "t" : "e";
    inner(holds ? s.then : s.else);
  }
  for (const [name, part] of Object.entries(s.dependentSchemas ?? {})) {
    const there = isObject(value) && own(value, name) !== undefined;
    to.decisions += there ? "d" : "-";
    if (there) inner(part);
  }
  for (const keyword of ["oneOf", "anyOf"]) {
    if (s[keyword] === undefined) continue;
    const branches = (s[keyword] as Schema[]).filter((branch) => !isNull(branch));
    if (branches.length < s[keyword].length) to.nullable = true;
    const flats = branches.map((branch) => flat(root, branch));
    if (branches.length === 1) inner(branches[0]);
    else if (flats.every((branch) => branch.enum && Object.keys(branch.properties).length === 0)) {
      to.parts.push({ enum: flats.flatMap((branch) => branch.enum) }); // alternatives that are values
      to.titles = flats.filter((branch) => branch.enum.length === 1 && branch.title).map((branch) => [branch.enum[0], branch.title]);
    }
    else if (keyword === "anyOf" && branches.every((branch) => !distinct(root, branch))) {
      for (const branch of branches) to.parts.push({ properties: flat(root, branch).properties }); // all of them can hold
    } else if (branches.some((branch) => shows(root, branch))) {
      choose(root, branches, value, choice, to, keyword === "oneOf");
    }
  }
  const types = several(s);
  if (types.length > 1) choose(root, types.map((type) => ({ type })), value, choice, to);
}

const isNull = (s: Schema) => s.type === "null" || s.const === null;

/** several returns the types of a value that can be of more than one, besides null. */
function several(s: Schema): string[] {
  return Array.isArray(s.type) ? s.type.filter((type) => type !== "null") : [];
}

/** flat puts the parts of a branch together that hold under no condition. */
export function flat(root: Schema, branch: Schema): Schema {
  const out: Schema = { properties: {}, required: [] };
  const add = (s: Schema) => {
    if (s.$ref !== undefined) add(deref(root, s.$ref));
    for (const part of s.allOf ?? []) add(part);
    out.type ??= s.type;
    out.title ??= s.title;
    out.required = [...(out.required ?? []), ...(s.required ?? [])];
    if (s.const !== undefined || s.enum !== undefined) out.enum ??= s.enum ?? [s.const];
    for (const [name, property] of Object.entries(s.properties ?? {})) put(out.properties, name, property);
  };
  add(branch);
  return out;
}

/** distinct reports whether a branch is about a value of a type of its own. */
function distinct(root: Schema, branch: Schema): boolean {
  const type = flat(root, branch).type;
  return type !== undefined && type !== "object";
}

/** shows reports whether a branch declares something, and not only restricts it. */
function shows(root: Schema, branch: Schema): boolean {
  const s = flat(root, branch);
  return s.type !== undefined || s.enum !== undefined || Object.keys(s.properties).length > 0;
}

function choose(root: Schema, branches: Schema[], value: Json | undefined, choice: () => number | undefined, to: Collected, one = false): void {
  const name = discriminator(root, branches);
  let chosen: number;
  if (name !== undefined) {
    const values = branches.map((branch) => valuesOf(root, flat(root, branch).properties[name])!);
    const present = isObject(value) ? own(value, name) : undefined;
    chosen = values.findIndex((list) => list.some((one) => equal(one, present)));
    const required = branches.every((branch) => flat(root, branch).required.includes(name)) || (one && branches.filter((branch) => matches(root, branch, {})).length > 1);
    to.discriminator = { name, values: values.flat(), required };
  } else {
    chosen = choice() ?? fitting(root, branches, value);
    if (chosen >= branches.length) chosen = -1;
    to.alternatives = { branches, chosen };
  }
  to.decisions += `(${chosen})`;
  if (chosen >= 0) collect(root, branches[chosen]!, value, () => undefined, to);
}

/** fitting returns the branch that a value was stored with. Of those that it matches, it is the one that has most of it: what
 * is not set, and is returned nevertheless (x-complete), can match others, too. */
function fitting(root: Schema, branches: Schema[], value: Json | undefined): number {
  if (value === undefined || value === null) return -1;
  const whole = branches.map((branch) => matches(root, branch, value)), some = whole.includes(true);
  if (!isObject(value)) return some ? whole.indexOf(true) : branches.findIndex((branch) => [flat(root, branch).type ?? []].flat().some((type) => hasType(type, value)));
  const counts = branches.map((branch, i) => (some && !whole[i] ? -1 : Object.keys(flat(root, branch).properties).filter((name) => !isBlank(own(value, name))).length));
  const best = Math.max(...counts);
  return some || best > 0 ? counts.indexOf(best) : -1;
}

/** discriminator returns the property for which every branch has values of its own. */
function discriminator(root: Schema, branches: Schema[]): string | undefined {
  const first = flat(root, branches[0]!).properties;
  return Object.keys(first).find((name) => {
    const lists = branches.map((branch) => valuesOf(root, own(flat(root, branch).properties, name)));
    const all = lists.flat();
    return lists.every((list) => list !== undefined) && all.every((one, i) => all.slice(0, i).every((other) => !equal(one, other)));
  });
}

function valuesOf(root: Schema, property: unknown): Json[] | undefined {
  return isObject(property) ? flat(root, property).enum : undefined;
}

// What follows from several schemas of one value is the stricter of each.
const least = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"];
const most = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"];
const applied = ["$ref", "allOf", "if", "then", "else", "oneOf", "anyOf", "not", "dependentSchemas", "$defs", "$schema"];

function combine(found: Collected): Shape {
  const out: Schema = {};
  let nullable = found.nullable;
  for (const part of found.parts) {
    for (const [name, value] of Object.entries(part)) {
      if (applied.includes(name)) continue;
      if (name === "properties" || name === "patternProperties") out[name] = both(out[name], value ?? {});
      else if (name === "required") out.required = [...new Set([...(out.required ?? []), ...value])];
      else if (name === "const" || name === "enum") {
        const values: Json[] = name === "enum" ? value : [value];
        nullable ||= values.includes(null);
        out.enum = out.enum ? out.enum.filter((one: Json) => values.some((other) => equal(one, other))) : values;
      } else if (name === "type") {
        nullable ||= [value].flat().includes("null");
        out.type = narrower(out.type, value);
      } else if (out[name] === undefined) out[name] = value;
      else if (least.includes(name)) out[name] = Math.max(out[name], value);
      else if (most.includes(name)) out[name] = Math.min(out[name], value);
      else if (name === "items" && !equal(out.items, value)) out.items = { allOf: [out.items, value] };
    }
  }
  const d = found.discriminator;
  if (d) {
    const { enum: _, const: __, ...rest } = flatten(own(out.properties, d.name));
    out.properties = { ...out.properties, [d.name]: { ...rest, enum: d.values } };
    if (d.required) out.required = [...new Set([...(out.required ?? []), d.name])];
  }
  const shape: Shape = { schema: out, type: single(out), nullable };
  if (found.alternatives) shape.alternatives = found.alternatives;
  if (found.titles) shape.titles = found.titles;
  return shape;
}

/** flatten returns the annotations of a property that several schemas declare. */
function flatten(property: Schema | undefined): Schema {
  return Object.assign({}, ...((property?.allOf as Schema[] | undefined) ?? []).map(flatten).reverse(), property, { allOf: undefined });
}

function both(a: Schema | undefined, b: Schema): Schema {
  const out: Schema = { ...a };
  for (const [name, schema] of Object.entries(b)) {
    const before = own(out, name);
    put(out, name, before === undefined || equal(before, schema) ? schema : before === false || schema === false ? false : { allOf: [before, schema] });
  }
  return out;
}

function narrower(a: string | string[] | undefined, b: string | string[]): string | string[] {
  if (a === undefined) return b;
  const mine = [a].flat(), other = [b].flat();
  const kept = mine.filter((type) => other.includes(type) || (type === "integer" && other.includes("number")));
  if (mine.includes("number") && other.includes("integer")) kept.push("integer");
  return kept.length === 1 ? kept[0]! : kept;
}

function single(s: Schema): string | undefined {
  const types = [s.type ?? []].flat().filter((type) => type !== "null");
  if (types.length === 1) return types[0];
  if (types.length > 1) return undefined;
  if (s.properties || s.additionalProperties || s.patternProperties) return "object";
  if (s.items || s.prefixItems || s.unevaluatedItems) return "array";
  return undefined;
}

const names = new WeakMap<Schema, Set<string>>();

/** declared returns the names of all properties that the schema of an object can show, under any condition. */
export function declared(root: Schema, schema: unknown): Set<string> {
  if (!isObject(schema)) return new Set();
  let found = names.get(schema);
  if (found) return found;
  names.set(schema, (found = new Set()));
  const s: Schema = schema;
  if (s["x-ref"] !== undefined) return found;
  const parts: unknown[] = [s.then, s.else, ...(s.allOf ?? []), ...(s.oneOf ?? []), ...(s.anyOf ?? []), ...Object.values(s.dependentSchemas ?? {})];
  if (s.$ref !== undefined) parts.push(deref(root, s.$ref));
  for (const name of Object.keys(s.properties ?? {})) found.add(name);
  for (const part of parts) for (const name of declared(root, part)) found.add(name);
  return found;
}

/** memberSchema returns the schema of a member of an object, true if it can be anything and false if it cannot be there. */
export function memberSchema(shape: Shape, name: string): unknown {
  const s = shape.schema;
  const property = own(s.properties, name);
  if (property !== undefined) return property;
  const applicable = Object.entries(s.patternProperties ?? {}).filter(([pattern]) => expression(pattern)?.test(name)).map(([, schema]) => schema);
  if (applicable.length > 0) return applicable.length === 1 ? applicable[0] : { allOf: applicable };
  return s.additionalProperties ?? s.unevaluatedProperties ?? !(s.properties || s.patternProperties);
}

/** isSecret reports whether a value is not shown. */
export const isSecret = (s: Schema): boolean => s["x-secret"] === true || s.writeOnly === true;

/** every returns the schemas of a value, under any condition. */
export function every(root: Schema, schemas: unknown[], found = new Set<Schema>()): Set<Schema> {
  for (const one of schemas) {
    const s = one as Schema;
    if (!isObject(one) || found.has(s)) continue;
    found.add(s);
    every(root, [s.$ref !== undefined && deref(root, s.$ref), s.then, s.else, ...(s.allOf ?? []), ...(s.anyOf ?? []), ...(s.oneOf ?? []), ...Object.values(s.dependentSchemas ?? {})], found);
  }
  return found;
}

/** propertySchemas returns the properties that an object can have, under any condition, with their schemas. */
export function propertySchemas(root: Schema, schemas: unknown[]): Map<string, unknown[]> {
  const found = new Map<string, unknown[]>();
  for (const s of every(root, schemas)) {
    for (const [name, schema] of Object.entries(s.properties ?? {})) found.set(name, [...(found.get(name) ?? []), schema]);
  }
  return found;
}

/** membersOf returns the properties that an object can have, each with one schema: what holds under every condition, or
 * else what conditions declare, as alternatives if that is of several types. */
export function membersOf(root: Schema, schema: Schema): Map<string, Schema> {
  const always: Schema = flat(root, schema).properties;
  const found = new Map<string, Schema>();
  for (const [name, declared] of propertySchemas(root, [schema])) {
    const types = new Map<string, Schema>();
    for (const one of (own(always, name) === undefined ? declared : [own(always, name)]) as Schema[]) {
      const { schema: s, type } = shapeOf(root, one, undefined, [], new Map());
      const key = s["x-ref"] ? "reference" : type ?? (s.enum ? typeof s.enum[0] : "");
      const before = types.get(key);
      if (!before || (before.enum && !s.enum)) types.set(key, s.enum ? s : one);
      else if (before.enum) types.set(key, { ...before, enum: [...new Set([...before.enum, ...s.enum])] });
    }
    if (types.size > 1) types.delete(""); // which only restricts the others
    const oneOf = [...types.values()];
    found.set(name, oneOf.length === 1 ? oneOf[0]! : { title: oneOf.find(({ title }) => title)?.title, oneOf });
  }
  return found;
}

/** masked returns a value with a text in place of each secret within it, whose schema may be any of several. */
export function masked(root: Schema, schemas: unknown[], value: Json | undefined, text: string): Json | undefined {
  const all = [...every(root, schemas)];
  if (value !== undefined && value !== null && all.some(isSecret)) return text;
  if (Array.isArray(value)) return value.map((item, i) => masked(root, all.flatMap((s) => [s.items, s.prefixItems?.[i], s.contains, s.unevaluatedItems]), item, text) ?? null);
  if (!isObject(value)) return value;
  const out: { [name: string]: Json | undefined } = {};
  for (const [name, member] of Object.entries(value)) {
    put(out, name, masked(root, all.flatMap((s) => [own(s.properties, name), s.additionalProperties, s.unevaluatedProperties, ...Object.values(s.patternProperties ?? {})]), member, text));
  }
  return out;
}

export function itemSchema(shape: Shape, index: number): unknown {
  return shape.schema.prefixItems?.[index] ?? shape.schema.items ?? shape.schema.unevaluatedItems ?? true;
}

/** Target is what a reference can refer to. */
export interface Target {
  type: string;
  where?: { [property: string]: string };
  network?: string;
  form?: string;
}

export function target(shape: Shape): Target | undefined {
  const ref = shape.schema["x-ref"];
  return typeof ref === "string" ? { type: ref } : ref;
}

/** lookedUp names the list that has the id of an object, of which nothing else is written. */
export function lookedUp({ schema: s }: Shape): string | undefined {
  const alone = Object.entries((s.properties ?? {}) as Schema).every(([name, property]) => name === "id" || property.readOnly);
  return s["x-lookup"] !== undefined && alone ? s["x-lookup"] : undefined;
}

/** label returns the name of a property in words. */
export function label(name: string, schema: unknown): string {
  if (isObject(schema) && typeof schema.title === "string") return brief(schema.title);
  const words = name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").replace(/([A-Z]+)([A-Z][a-z])/g, "$1 $2").replace(/[_-]+/g, " ").split(" ");
  return visible(words.map((word, i) => (i === 0 ? word.charAt(0).toUpperCase() + word.slice(1) : /^[A-Z]+$/.test(word) ? word : word.toLowerCase())).join(" "));
}

/** branchName names an alternative: by its title, its values, or its type. */
export function branchName(root: Schema, branch: Schema): string {
  return brief(nameOf(root, branch));
}

function nameOf(root: Schema, branch: Schema): string {
  const s = flat(root, branch);
  if (s.title) return s.title;
  if (s.enum) return s.enum.map((value: Json) => String(value)).join(", ");
  const fixed = Object.entries(s.properties).map(([name, property]) => [name, valuesOf(root, property)] as const).filter(([, values]) => values?.length === 1);
  if (fixed.length > 0) return fixed.map(([name, values]) => `${name} ${values![0]}`).join(", ");
  const members = s.required.length > 0 ? s.required : Object.keys(s.properties);
  return s.type && s.type !== "object" ? String(s.type) : members.map((name: string) => label(name, s.properties[name])).join(", ");
}
