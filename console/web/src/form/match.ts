// Whether a value matches a schema: for conditions, which decide what the form shows.
// Whether an object is valid is for the server to judge.

import { Exact } from "../exact";
import { expression } from "../pattern";
import { Schema, deref } from "./schema";
import { Json, equal, isObject, own, typeOf } from "./value";

/** matches reports whether the value matches the schema, whose references are within root. */
export function matches(root: Schema, schema: unknown, value: Json | undefined): boolean {
  if (typeof schema === "boolean") return schema;
  const s = schema as Schema;
  const is = (inner: unknown) => matches(root, inner, value);
  if (s.$ref !== undefined && !is(deref(root, s.$ref))) return false;
  if (value === undefined) return true;
  if (s.type !== undefined && ![s.type].flat().some((type) => hasType(type, value))) return false;
  if (s.const !== undefined && !equal(s.const, value)) return false;
  if (s.enum !== undefined && !s.enum.some((one: Json) => equal(one, value))) return false;
  if (s.allOf !== undefined && !s.allOf.every(is)) return false;
  if (s.anyOf !== undefined && !s.anyOf.some(is)) return false;
  if (s.oneOf !== undefined && s.oneOf.filter(is).length !== 1) return false;
  if (s.not !== undefined && is(s.not)) return false;
  if (s.if !== undefined && !is((is(s.if) ? s.then : s.else) ?? true)) return false;
  if (typeof value === "number" || value instanceof Exact) return matchesNumber(s, Number(value));
  if (typeof value === "string") return matchesString(s, value);
  if (Array.isArray(value)) return matchesArray(root, s, value);
  return !isObject(value) || matchesObject(root, s, value);
}

export function hasType(type: string, value: Json): boolean {
  if (type === "integer") return value instanceof Exact || (typeof value === "number" && Number.isInteger(value));
  return typeOf(value) === type;
}

const within = (number: number, least: unknown, most: unknown) =>
  (least === undefined || number >= (least as number)) && (most === undefined || number <= (most as number));

function matchesNumber(s: Schema, value: number): boolean {
  return within(value, s.minimum, s.maximum) &&
    (s.exclusiveMinimum === undefined || value > s.exclusiveMinimum) &&
    (s.exclusiveMaximum === undefined || value < s.exclusiveMaximum) &&
    (s.multipleOf === undefined || Math.abs(value / s.multipleOf - Math.round(value / s.multipleOf)) < 1e-9);
}

function matchesString(s: Schema, value: string): boolean {
  return ((s.minLength === undefined && s.maxLength === undefined) || within([...value].length, s.minLength, s.maxLength)) &&
    (s.pattern === undefined || (expression(s.pattern)?.test(value) ?? true));
}

function matchesArray(root: Schema, s: Schema, value: Json[]): boolean {
  const first: unknown[] = s.prefixItems ?? [];
  const found = s.contains === undefined ? 1 : value.filter((item) => matches(root, s.contains, item)).length;
  return within(value.length, s.minItems, s.maxItems) &&
    value.every((item, i) => matches(root, i < first.length ? first[i] : s.items ?? true, item)) &&
    within(found, s.contains === undefined ? undefined : s.minContains ?? 1, s.contains && s.maxContains) &&
    (!s.uniqueItems || value.every((item, i) => value.slice(0, i).every((other) => !equal(item, other))));
}

function matchesObject(root: Schema, s: Schema, value: { [name: string]: Json | undefined }): boolean {
  const names = Object.keys(value);
  const patterns = Object.entries(s.patternProperties ?? {});
  return within(names.length, s.minProperties, s.maxProperties) &&
    (s.required ?? []).every((name: string) => own(value, name) !== undefined) &&
    Object.entries(s.dependentRequired ?? {}).every(([name, others]) =>
      own(value, name) === undefined || (others as string[]).every((other) => own(value, other) !== undefined)) &&
    Object.entries(s.dependentSchemas ?? {}).every(([name, then]) => own(value, name) === undefined || matches(root, then, value)) &&
    names.every((name) => {
      if (s.propertyNames !== undefined && !matches(root, s.propertyNames, name)) return false;
      const applicable = patterns.filter(([pattern]) => expression(pattern)?.test(name)).map(([, schema]) => schema);
      const declared = own(s.properties as { [name: string]: unknown } | undefined, name);
      if (declared !== undefined) applicable.push(declared);
      else if (applicable.length === 0 && s.additionalProperties !== undefined) applicable.push(s.additionalProperties);
      return applicable.every((schema) => matches(root, schema, value[name]));
    });
}
