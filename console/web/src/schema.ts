// What the service says of its types and networks: everything that is shown is made from it.
import { signal } from "@preact/signals";
import { api, schemasDigest, type Answer } from "./api";
import { membersOf, propertySchemas } from "./form/schema";
import { brief, t } from "./texts";

/** A type as the service lists it for the caller. */
export interface TypeInfo {
  type: string;
  title?: string;
  group?: string;
  scope?: string;
  parent?: string;
  writable?: boolean;
}

/** Whether the caller administers the network: that is who may change its roles. */
export const manages = () => types.value.some(({ type, writable }) => type === "roles" && writable);

export type Schema = Record<string, any>;

export type Kind = "text" | "number" | "boolean" | "enum" | "time" | "reference" | "references" | "list" | "object";

/** A property, or a common field, as lists show it. */
export interface Property {
  name: string;
  title: string;
  kind: Kind;
  /** The type that a reference leads to. */
  target?: string;
  values?: unknown[];
  description?: string;
}

export interface Named {
  id: string;
  name?: string;
}

export const types = signal<TypeInfo[]>([]);
/** The permissions that the caller holds in the network, or null while they are not known. */
export const permissions = signal<string[] | null>(null);
/** The networks that the caller sees, or null while they are not known. */
export const networks = signal<Named[] | null>(null);

/**
 * The parameter with which the answer to a read has a position, from which changes of a type can be followed. Before
 * the types are known, those without a feed are the ones that refuse it.
 */
export function followable(type: string): Record<string, string> {
  const known = types.value.find((one) => one.type === type);
  return (known ? known.scope === "global" : ["users", "networks"].includes(type)) ? {} : { position: "true" };
}

/** The network whose types are known. */
let typesOf = "";

/** Reads the types that the caller may see in a network. */
export async function loadTypes(network: string): Promise<Answer> {
  if (network !== typesOf) [types.value, permissions.value] = [[], null];
  typesOf = network;
  const answer = await api.get(`/api/schemas?${new URLSearchParams({ mine: "true", context: network })}`);
  if (answer.status === 200 && network === typesOf) [types.value, permissions.value] = [answer.body.types, answer.body.permissions ?? []];
  return answer;
}

let cached = new Map<string, Promise<Answer<Schema>>>();
let cachedFor = "";

/** Reads the schema of a type as the caller sees it, once for each set of schemas. */
export function schemaOf(network: string, type: string): Promise<Answer<Schema>> {
  if (cachedFor !== schemasDigest.value) [cached, cachedFor] = [new Map(), schemasDigest.value];
  const key = `${network}\n${type}`;
  let reading = cached.get(key);
  if (!reading) {
    const kept = cached;
    reading = api.get<Schema>(`/api/schemas/${encodeURIComponent(type)}?${new URLSearchParams({ mine: "true", context: network })}`);
    kept.set(key, reading);
    reading.then(({ status }) => status === 200 || kept.delete(key));
  }
  return reading;
}

/** A schema with what its $ref leads to. */
export function resolved(root: Schema, schema: Schema | undefined): Schema {
  let found: Schema = schema ?? {};
  for (let depth = 0; typeof found.$ref === "string" && depth < 16; depth++) {
    const { $ref, ...own } = found;
    const target = $ref.split("/").slice(1).reduce((at: any, part: string) => at?.[part.replaceAll("~1", "/").replaceAll("~0", "~")], root);
    found = { ...(target ?? {}), ...own };
  }
  return found;
}

/** A name as people write it: startDate is "Start date". */
export function worded(name: string): string {
  const words = name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").replace(/[_-]+/g, " ").toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** A JSON Pointer in words. */
export const placeOf = (field: string): string => field.slice(1).split("/").map((name) => worded(name.replaceAll("~1", "/").replaceAll("~0", "~"))).join(" › ");

function kindOf(root: Schema, schema: Schema): Pick<Property, "kind" | "target" | "values"> {
  if (schema["x-ref"]) return { kind: "reference", target: targetOf(schema["x-ref"]) };
  if (schema.enum) return { kind: "enum", values: schema.enum.filter((value: unknown) => value !== null) };
  const type = [schema.type, ...(schema.oneOf ?? schema.anyOf ?? []).map((branch: Schema) => resolved(root, branch).type)].flat().find((name) => name && name !== "null");
  if (type === "boolean") return { kind: "boolean" };
  if (type === "integer" || type === "number") return { kind: "number" };
  if (type === "string") return { kind: schema.format === "date-time" || schema.format === "date" ? "time" : "text" };
  if (type === "array") {
    const items = resolved(root, schema.items);
    return items["x-ref"] ? { kind: "references", target: targetOf(items["x-ref"]) } : { kind: "list", values: items.enum };
  }
  return { kind: type === "object" || schema.properties ? "object" : "text" };
}

const targetOf = (ref: unknown): string => (typeof ref === "string" ? ref : String((ref as any)?.type ?? ""));

/** The fields that every object has. */
const common = (): Property[] => [
  { name: "id", kind: "text", title: t("field.id") },
  { name: "objectState", kind: "enum", title: t("field.state"), values: ["ACTIVE", "INACTIVE", "HIDDEN"] },
  { name: "createTime", kind: "time", title: t("field.created") },
  { name: "updateTime", kind: "time", title: t("field.updated") },
  { name: "createUser", kind: "reference", target: "users", title: t("field.creator") },
  { name: "updateUser", kind: "reference", target: "users", title: t("field.updater") },
];

export const warningsName = "validationWarnings";

/** The names of the common fields that no client writes once the object is there. */
export const commonNames = ["id", "createTime", "createUser", "updateTime", "updateUser", "network", warningsName, "url"];

/** The properties, under any condition, and common fields of a type, by name. */
export function propertiesOf(schema: Schema): Map<string, Property> {
  const found = new Map<string, Property>();
  for (const property of common()) found.set(property.name, property);
  for (const [name, written] of membersOf(schema, schema)) {
    const inner = resolved(schema, written);
    found.set(name, { name, title: brief(written.title ?? worded(name)), description: inner.description, ...kindOf(schema, inner) });
  }
  found.set(warningsName, { name: warningsName, kind: "list", title: t("field.warnings") });
  return found;
}

/** The property that names an object. */
export function labelOf(schema: Schema): string {
  const label = schema["x-resource"]?.label ?? "name";
  return propertySchemas(schema, [schema]).has(label) ? label : "id";
}

/** Whether forms make objects of a type. Not those below a parent of which the service sets everything, such as files. */
export function formed(schema: Schema): boolean {
  const parent = schema["x-resource"]?.parent;
  const others = [...membersOf(schema, schema)].filter(([name]) => name !== parent);
  return parent === undefined || others.length === 0 || others.some(([, written]) => !resolved(schema, written).readOnly);
}

/** The columns of a list that names none. */
export function defaultColumns(schema: Schema): string[] {
  const resource = schema["x-resource"] ?? {};
  if (resource.columns?.length > 0) return resource.columns;
  const sorted: string[] = (resource.sort ?? []).slice(0, 4);
  const states = Object.keys(schema.properties ?? {}).filter((name) => /^(user)?state$|status$/i.test(name)).slice(0, 1);
  return [...new Set([labelOf(schema), ...sorted, ...states, "objectState", "updateTime", warningsName])];
}

/** The properties that lists can be filtered by quickly. */
export function filterable(schema: Schema): string[] {
  const resource = schema["x-resource"] ?? {};
  const indexed: string[] = [...(resource.index ?? []), ...(resource.unique ?? [])].flatMap((entry: any) => (typeof entry === "string" ? [entry] : Array.isArray(entry) ? entry.slice(0, 1) : []));
  const references = [...propertiesOf(schema).values()].filter(({ kind }) => kind === "reference" || kind === "references").map(({ name }) => name);
  return [...new Set([...indexed, ...(resource.sort ?? []), ...references, "createTime", "updateTime"])];
}

/** The properties that lists can be ordered by. */
export const sortable = (schema: Schema): string[] => [...(schema["x-resource"]?.sort ?? []), "id", "createTime", "updateTime", "objectState"];
