// Reading and saving an object. Each save has a condition, and what may have arrived
// is repeated with the same key.

import { api, pathOf, randomId } from "../api";
import type { Answer } from "../api";
import { changes } from "../hooks";
import { commonNames, followable, schemaOf } from "../schema";
import { explain, t } from "../texts";
import type { Message } from "../texts";
import { Difference, Merge, Names, initial, merge, none, stored } from "./change";
import { clearer } from "./kinds";
import { Form, notes } from "./model";
import { Schema, declared, itemSchema, memberSchema, shapeOf } from "./schema";
import { Json, JsonObject, drafts, equal, isObject, own, pointer, put } from "./value";

const states = ["ACTIVE", "INACTIVE", "HIDDEN"];

/** Opened is a form with what its requests need. */
export interface Opened {
  form: Form;
  /** The id of the object, behind that of its parent, if it has one; none as long as it is new. */
  ids: string[];
  etag: string;
  /** What the service says about the object, such as who changed it. */
  object: Schema;
  digest: string;
  /** The position of the object in the feed of changes, "" if it is not known. */
  position: string;
  request?: Request;
  /** The id of an object that the form has created before it was saved completely. */
  created?: string;
}

/** Request is a save, which a repetition has the key of. */
interface Request {
  method: string;
  path: string;
  body: JsonObject;
  headers: Record<string, string>;
  /** The value of the form. */
  value: JsonObject;
  /** Whether there was no answer, so that the service may have stored it. */
  lost?: boolean;
}

/** Outcome is what became of a save. */
export type Outcome =
  | { kind: "saved"; created?: string; shown?: Schema }
  | { kind: "unchanged" | "refused" }
  | { kind: "failed"; text: string }
  | { kind: "conflict"; merge: Merge; theirs: Schema; etag: string };

/** idsOf returns the ids of an object that a form has created: that of its parent comes first, if it has one. */
export function idsOf(form: Form, id: string): string[] {
  const parent = form.schema.peek()["x-resource"]?.parent;
  const above = parent === undefined ? undefined : own(form.value.peek(), parent);
  return above === undefined ? [id] : [String(isObject(above) ? above.id : above), id];
}

/** open reads what a form needs, in two requests at once. A new object can be below a parent that is known already. */
export async function open(type: string, network: string, ids: string[], above: string): Promise<Opened | { fault: string }> {
  const isNew = ids.length === 0;
  const [schema, object] = await Promise.all([schemaOf(network, type), isNew ? undefined : api.get<Schema>(pathOf(type, network, ids, followable(type)))]);
  if (schema.status !== 200) return { fault: failure(schema) };
  if (object && object.status !== 200) return { fault: failure(object) };
  if (object && (schema.body["x-resource"]?.parent === undefined) !== (ids.length === 1)) return { fault: t("status.missing") }; // but a list of what is below a parent
  const source = ofForm(schema.body, isNew);
  const names: Names = new Map();
  const base = object ? (stored(source, source, object.body, names) as JsonObject) : {};
  const form = new Form(type, network, source, base, object ? base : begun(source, above), isNew, names);
  form.warnings.value = notes(object?.body.validationWarnings ?? []);
  form.shown(form.value.peek()); // so that the first key press does not have to
  return { form, ids, etag: object?.headers.get("ETag") ?? "", object: object?.body ?? {}, digest: schema.headers.get("Marquee-Schemas") ?? "", position: object?.headers.get("Marquee-Position") ?? "" };
}

/** begun returns what a new object has in its form. The path of one below a parent has its id, which the service makes
 * for others. */
function begun(schema: Schema, above: string): JsonObject {
  const { parent, id } = schema["x-resource"] ?? {};
  const value = initial(schema, schema);
  if (parent !== undefined && id !== "required") value.id = randomId();
  if (parent !== undefined && above) put(value, parent, above);
  return value;
}

/** others waits until somebody else has changed the object, and returns who that was. It is undefined if the object is
 * gone, and null if that cannot be known. */
export async function others(opened: Opened, ended: AbortSignal): Promise<Schema | undefined | null> {
  const { form, ids } = opened;
  const read = (more: Record<string, string>) => api.get<Schema>(pathOf(form.type, form.network, ids, more), { "If-None-Match": opened.etag });
  const changed = ({ status, headers }: Answer) => status === 200 && headers.get("ETag") !== opened.etag;
  if (!opened.position) {
    const answer = await read({ position: "true" });
    if (changed(answer)) return answer.body;
    opened.position = answer.headers.get("Marquee-Position") ?? "";
  }
  const of = { network: form.network, type: form.type, id: ids.at(-1)!, after: opened.position };
  for await (opened.position of changes(of, ended)) {
    const answer = await read({});
    if (answer.status === 404) return undefined;
    if (changed(answer)) return answer.body;
  }
  return null;
}

/** ofForm is the schema of a form. Common fields that nobody writes are not entries of objects that can have any. */
function ofForm(schema: Schema, isNew: boolean): Schema {
  const whole = withCommon(schema, isNew), all = declared(whole, whole);
  const others = [...commonNames, schema["x-resource"]?.idProperty ?? "id"].filter((name) => !all.has(name));
  return { ...whole, properties: { ...whole.properties, ...Object.fromEntries(others.map((name) => [name, false])) } };
}

/** withCommon declares the common fields that clients can write. */
export function withCommon(schema: Schema, isNew: boolean): Schema {
  const resource = schema["x-resource"] ?? {};
  const chosen = resource.id === "required" || resource.parent !== undefined;
  const id = { type: "string", maxLength: 256, minLength: 1, format: "id", title: resource.idProperty ?? "id", "x-immutable": true, description: t(chosen ? "form.id.chosen" : "form.id") };
  const state = { type: "string", enum: states, default: "ACTIVE", title: t("form.state") };
  return {
    ...schema,
    properties: { ...schema.properties, ...(isNew && { id }), objectState: state },
    required: [...(schema.required ?? []), ...(isNew && chosen ? ["id"] : [])],
  };
}

export function failure(answer: Answer): string {
  const messages: Message[] = answer.body?.messages ?? [];
  return messages.map(explain).join(" ") || (answer.status === 0 ? t("form.fault.unreachable") : `${answer.status}`);
}

/** save sends what has changed, and nothing else. */
export async function save(opened: Opened): Promise<Outcome> {
  const outcome = await attempt(opened);
  if (outcome.kind === "saved" && opened.created !== undefined) outcome.created = opened.created;
  return outcome;
}

async function attempt(opened: Opened): Promise<Outcome> {
  const { form } = opened;
  const value = form.value.peek();
  const sent = form.shown(value);
  const incomplete = drafts(sent);
  if (incomplete.length > 0) {
    form.faults.value = notes(incomplete.map(({ path, draft }) => ({ code: "", text: draft.reason, params: { field: pointer(path) } })).slice(0, 100));
    return { kind: "refused" };
  }
  const first = opened.request;
  if (form.isNew && first?.lost && first.value !== value) {
    const failed = await found(opened, first);
    if (failed) return failed;
  }
  const change = form.change.peek();
  if (opened.created !== undefined && !change) return { kind: "saved", shown: opened.object };
  if (!form.isNew && !change) return { kind: "unchanged" };
  const schema = form.schema.peek();
  const headers: Record<string, string> = {};
  let method = "POST", path: string, body: JsonObject;
  if (form.isNew) {
    const { id, ...rest } = sent;
    const { parent } = schema["x-resource"] ?? {};
    const lacking = parent === undefined ? [] : ["id", parent].filter((name) => !own(sent, name));
    if (lacking.length > 0) {
      form.faults.value = notes(lacking.map((name) => ({ code: "", text: t("form.fault.path"), params: { field: "/" + name } })));
      return { kind: "refused" };
    }
    body = rest;
    path = pathOf(form.type, form.network, id === undefined ? [] : idsOf(form, id as string));
    if (id !== undefined) headers["If-None-Match"] = "*";
  } else {
    ({ method, body } = change!);
    path = pathOf(form.type, form.network, opened.ids);
    headers["If-Match"] = opened.etag;
  }
  if (form.type !== "tokens" && !writesOnly(schema, schema, body, sent)) {
    const text = (request: Request) => JSON.stringify([request.method, request.path, request.headers["If-Match"], request.body]);
    const now: Request = { method, path, body, headers, value };
    const key = opened.request && text(opened.request) === text(now) ? opened.request.headers["Idempotency-Key"]! : randomId();
    headers["Idempotency-Key"] = key;
    opened.request = now;
  }
  const answer = await api.send(method, path + "&fieldValidation=Strict", body, headers);
  if (opened.request?.headers === headers && answer.status === 0) opened.request.lost = true;
  const outcome = await settle(opened, answer, value);
  await followSchema(opened, answer);
  return outcome;
}

/** found sends a creation again whose answer was lost. The form becomes that of the object, unless it is refused. */
async function found(opened: Opened, first: Request): Promise<Outcome | undefined> {
  const { form } = opened;
  let answer = await api.send(first.method, first.path + "&fieldValidation=Strict", first.body, first.headers);
  if (answer.status === 200 || answer.status === 201) {
    const { id } = answer.body.results?.[0] ?? answer.body;
    const ids = idsOf(form, id);
    answer = await api.get(pathOf(form.type, form.network, ids));
    if (answer.status !== 200) return { kind: "failed", text: failure(answer) };
    form.isNew = false;
    opened.ids = ids;
    opened.created = id;
    adopt(opened, answer.body, answer.headers.get("ETag") ?? "", first.value);
  } else if (answer.status === 0 || answer.status >= 429) return { kind: "failed", text: failure(answer) };
  delete opened.request;
  return undefined;
}

async function settle(opened: Opened, answer: Answer, value: JsonObject): Promise<Outcome> {
  const { form } = opened;
  if (answer.status === 200 || answer.status === 201) {
    delete opened.request;
    form.faults.value = new Map();
    if (form.isNew) {
      const created: Schema = answer.body.results?.[0] ?? answer.body;
      form.base.value = form.value.value; // nothing is left to save
      return { kind: "saved", created: created.id, shown: created };
    }
    adopt(opened, answer.body, answer.headers.get("ETag") ?? "", value);
    return { kind: "saved", shown: answer.body };
  }
  if (answer.status === 412) {
    if (!form.isNew) return conflict(opened);
    form.faults.value = notes([{ code: "", text: t("form.fault.exists"), params: { field: "/id" } }]);
    return { kind: "refused" };
  }
  const messages: Message[] = answer.body?.messages ?? [];
  if ((answer.status === 422 || answer.status === 400) && messages.length > 0) {
    form.faults.value = notes(clearer(form, messages));
    return { kind: "refused" };
  }
  if (answer.status === 404) return { kind: "failed", text: t("form.change.gone") };
  return { kind: "failed", text: answer.status === 409 || answer.status === 503 || answer.status === 429 ? `${t("form.fault.busy")} ${failure(answer)}` : failure(answer) };
}

/** adopt makes what the service has returned the base of the form. What was typed since is kept. */
function adopt(opened: Opened, object: Schema, etag: string, sent: JsonObject): void {
  const { form } = opened;
  const base = stored(form.schema.peek(), form.schema.peek(), object as JsonObject, form.names) as JsonObject;
  const typed = form.value.peek() === sent ? base : merge(sent, form.value.peek(), base).merged;
  form.rebase(base, typed, form.choices.peek());
  form.warnings.value = notes(object.validationWarnings ?? []);
  opened.object = object;
  opened.etag = etag;
}

/** conflict reads what somebody else has saved, and compares it with the form. */
export async function conflict(opened: Opened): Promise<Outcome> {
  const { form } = opened;
  const answer = await api.get<Schema>(pathOf(form.type, form.network, opened.ids));
  if (answer.status !== 200) return { kind: "failed", text: answer.status === 404 ? t("form.change.gone") : failure(answer) };
  const schema = form.schema.peek();
  const theirs = stored(schema, schema, answer.body as JsonObject, form.names) as JsonObject;
  const merged = merge(form.before(), form.shown(form.value.peek()), form.shown(theirs, none));
  // Whether the other has changed what is never returned cannot be known, so that the user decides.
  const unknown = ({ path }: Difference) => form.place(path).shape.schema.writeOnly === true;
  merged.conflicts.push(...merged.yours.filter(unknown));
  merged.yours = merged.yours.filter((one) => !unknown(one));
  return { kind: "conflict", merge: merged, theirs: answer.body, etag: answer.headers.get("ETag") ?? "" };
}

/** resolve makes the other's version the base, and the result of a merge, or without one that version, the value. */
export function resolve(opened: Opened, theirs: Schema, etag: string, result?: JsonObject): void {
  const { form } = opened;
  const schema = form.schema.peek();
  const base = stored(schema, schema, theirs as JsonObject, form.names) as JsonObject;
  form.rebase(base, result ?? base, none);
  form.warnings.value = notes(theirs.validationWarnings ?? []);
  opened.object = theirs;
  opened.etag = etag;
}

/** followSchema reads the schema again if the service has another set than when the form was opened. */
async function followSchema(opened: Opened, answer: Answer): Promise<void> {
  const digest = answer.headers.get("Marquee-Schemas");
  if (!digest || digest === opened.digest) return;
  const { form } = opened;
  const { status, body } = await schemaOf(form.network, form.type);
  if (status !== 200) return;
  opened.digest = digest;
  const schema = ofForm(body, form.isNew);
  if (!equal(schema, form.schema.peek())) form.schema.value = schema;
}

/** lost lists the places of what is in the form and not in its schema any more. */
export function lost(form: Form, before: Schema): string[] {
  const declared = before.properties ?? {};
  return Object.keys(form.value.peek()).filter((name) => own(declared, name) !== undefined && own(form.schema.peek().properties as Schema, name) === undefined);
}

/** writesOnly reports whether a request has a value that is never returned, which cannot be repeated. Conditions
 * apply to the whole object, which a request that changes it has only a part of. */
export function writesOnly(root: Schema, schema: unknown, value: Json | undefined, whole = value): boolean {
  const shape = shapeOf(root, schema, whole, [], new Map());
  if (!isObject(value)) return Array.isArray(value) && value.some((item, i) => writesOnly(root, itemSchema(shape, i), item));
  return Object.entries(value).some(([name, member]) => {
    const inner = memberSchema(shape, name), of = (isObject(whole) ? own(whole, name) : undefined) ?? member;
    return shapeOf(root, inner, of, [], new Map()).schema.writeOnly === true || writesOnly(root, inner, member, of);
  });
}

/** chosen returns the merged object with theirs in the places where it was chosen. */
export function chosen(merged: Merge, theirs: ReadonlySet<number>): JsonObject {
  let out = merged.merged;
  merged.conflicts.forEach((difference, i) => {
    if (theirs.has(i)) out = place(out, difference.path.map(String), difference.theirs);
  });
  return out;
}

function place(object: JsonObject, [name, ...rest]: string[], value: Json | undefined): JsonObject {
  const out: JsonObject = { ...object };
  if (rest.length > 0) put(out, name!, place((own(object, name!) ?? {}) as JsonObject, rest, value));
  else if (value === undefined) delete out[name!];
  else put(out, name!, value);
  return out;
}
