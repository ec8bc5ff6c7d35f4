// A reference: a combobox that searches on the server, and ways to open or create what
// it refers to beside the form.

import { useSignal } from "@preact/signals";
import { api, idsIn, pathOf } from "../api";
import { Combobox, Found, most, useSearch } from "../combobox";
import { integer } from "../exact";
import { lookup } from "../module";
import { explain, t, visible } from "../texts";
import { schemaOf, types } from "../schema";
import { Picker } from "../picker";
import { Name, nameKey } from "./change";
import { emptied } from "./controls";
import type { ControlProps } from "./field";
import { Form, useForm, useValue } from "./model";
import { Schema, Target, every, label, lookedUp, shapeOf, target } from "./schema";
import { Draft, Json, Path, get, isObject, own } from "./value";

/** Way is how objects of a type are found. */
interface Way {
  label: string;
  search: boolean;
  /** The property that names the object below which they are, with its label and its type. */
  parent?: Parent;
}

interface Parent {
  property: string;
  label: string;
  type: string;
}

/** wayTo is how the objects of a type are found. */
async function wayTo(type: string, network: string): Promise<Way | undefined> {
  const { status, body } = await schemaOf(network, type);
  const resource = body?.["x-resource"];
  return status === 200 ? { label: resource.label ?? "name", search: (resource.search ?? []).length > 0, ...parentOf(body, resource.parent) } : undefined;
}

function parentOf(schema: Schema, property: string | undefined): { parent?: Parent } {
  const declared = property === undefined ? undefined : own(schema.properties as Schema, property);
  const to = declared && target(shapeOf(schema, declared, undefined, [], new Map()));
  return to ? { parent: { property: property!, label: label(property!, declared), type: to.type } } : {};
}

const quoted = (value: string) => `"${value.replace(/\\/g, "\\\\").replace(/"/g, '\\"')}"`;

async function find(to: Target, network: string, text: string, below: (parent: Parent) => string): Promise<{ found: Found[]; fault?: string }> {
  const how = await wayTo(to.type, network);
  if (!how) return { found: [] };
  const parent = how.parent && below(how.parent);
  if (parent === "") return { found: [], fault: t("form.reference.parent", { label: how.parent!.label }) };
  const path = parent === undefined ? to.type : `${to.type}/${encodeURIComponent(parent)}`;
  const query: Record<string, string> = { fields: `id,${how.label}`, pageSize: String(most), count: "false" };
  if (to.where) query.where = Object.entries(to.where).map(([name, value]) => `${name}=${quoted(value)}`).join(";");
  if (text && how.search) query.q = text;
  else if (text) Object.assign(query, { filterBy: how.label, filterByLike: text });
  let answer = await api.get(pathOf(path, network, undefined, query));
  if (answer.status === 200 && answer.body.results.length === 0 && text) {
    answer = await api.get(pathOf(path, network, undefined, byId(query, text)));
  }
  if (answer.status !== 200) return { found: [], fault: (answer.body?.messages ?? []).map(explain).join(" ") || t("form.fault.unreachable") };
  return { found: answer.body.results.map((one: Schema) => ({ id: one.id, name: typeof one[how.label] === "string" ? one[how.label] : one.id, url: pathOf(path, network, one.id) })) };
}

/** byId asks for an object by its id in place of its name. */
function byId({ q: _, filterBy: __, filterByLike: ___, ...query }: Record<string, string>, id: string): Record<string, string> {
  return { ...query, id: id.replace(/;/g, "") };
}

/** networkOf is the network of what is referred to: another property can name it. */
function networkOf(form: Form, to: Target, path: Path): string {
  for (let i = path.length - 1; to.network !== undefined && i >= 0; i--) {
    const id = get(form.value.peek(), [...path.slice(0, i), to.network]);
    if (typeof id === "string") return id;
  }
  return form.network;
}

/** parentIn returns the object below which a reference is looked for: that of its value, this one, or the one that a
 * property of the same name refers to. */
function parentIn(form: Form, path: Path, parent: Parent, known: Name | undefined): string {
  const ids = known?.url === undefined ? [] : idsIn(known.url);
  if (ids.length > 1) return ids[0]!;
  if (form.type === parent.type && typeof form.base.peek().id === "string") return form.base.peek().id as string;
  for (let i = path.length - 1; i >= 0; i--) {
    const value = get(form.value.peek(), [...path.slice(0, i), parent.property]);
    const id = isObject(value) ? value.id : value;
    if (typeof id === "string") return id;
  }
  return "";
}

export function Reference(props: ControlProps) {
  const { path, shape } = props;
  const form = useForm();
  const to = target(shape)!;
  const value = useValue(path);
  form.renamed.value; // subscribes to names
  const id = isObject(value) ? (value.id as string | undefined) : typeof value === "string" && to.form !== "object" ? value : undefined;
  const known = id === undefined ? undefined : form.names.get(nameKey(to.type, id));
  /** Whether a text can stand in place of the reference. */
  const free = to.form === "object" && [...every(form.schema.value, [props.schema])].some(({ type }) => type === "string");
  /** Below which object is looked for, once it is known that there is one. */
  const below = useSignal<{ parent: Parent; id: string } | null>(null);
  const search = useSearch((text) => find(to, networkOf(form, to, path), text, (parent) => (below.value ??= { parent, id: parentIn(form, path, parent, known) }).id), !free);
  const choose = (one: Found) => {
    form.names.set(nameKey(to.type, one.id), { name: one.name, ...(one.url !== undefined && { url: one.url }) });
    form.renamed.value++;
    form.set(path, to.form === "object" ? { id: one.id } : one.id);
    search.close();
  };
  const write = (text: string) => {
    if (text === "") form.set(path, emptied(props) as Json | undefined);
    else if (free) form.set(path, text);
  };
  const leave = (text: string) => free || form.set(path, new Draft(text, t("form.fault.reference")));
  const shown = value instanceof Draft ? value.text : known?.name ?? id ?? (typeof value === "string" ? value : "");
  const seen = types.value.find(({ type }) => type === to.type);
  const beside = (open?: string) => (!form.beside.peek()?.dirty || confirm(t("form.leave"))) && (form.beside.value = {
    type: to.type, network: networkOf(form, to, path), ...(open !== undefined && { ids: known?.url === undefined ? [open] : idsIn(known.url) }),
    saved: (saved, name) => choose({ id: open ?? saved, name, ...(open !== undefined && known?.url !== undefined && { url: known.url }) }),
  });
  return (
    <Combobox attributes={props.attributes} label={props.label} search={search} shown={shown} title={id} write={write} leave={leave} choose={choose}>
      {form.besides && seen && id !== undefined && search.typed.value === null && <button type="button" aria-label={t("form.reference.open.label", { label: props.label })} onClick={() => beside(id)}>{t("form.reference.open")}</button>}
      {form.besides && seen?.writable && !seen.parent && id === undefined && <button type="button" aria-label={t("form.reference.create.label", { label: props.label })} onClick={() => beside()}>{t("form.reference.create")}</button>}
      {below.value && <Picker label={below.value.parent.label} network={networkOf(form, to, path)} type={below.value.parent.type} value={below.value.id} onPick={(id) => { below.value = { ...below.value!, id }; search.start(search.typed.value ?? ""); }} />}
    </Combobox>
  );
}

/** Looked chooses an object of a list of the service, which the module of the application searches. Its id can be typed, too. */
export function Looked(props: ControlProps) {
  const { path, shape } = props;
  const form = useForm();
  const list = lookedUp(shape)!;
  const value = useValue(path);
  form.renamed.value; // subscribes to names
  const id = isObject(value) && value.id !== undefined ? String(value.id) : undefined;
  const known = id === undefined ? undefined : form.names.get(nameKey(list, id));
  const search = useSearch((text) => lookUp(list, text.trim()), true);
  const set = (id: string) => form.set(path, { id: integer(id)! });
  const choose = (one: Found) => {
    form.names.set(nameKey(list, one.id), one);
    form.renamed.value++;
    set(one.id);
    search.close();
  };
  const write = (text: string) => text === "" && form.set(path, emptied(props));
  const leave = (text: string) => (/^\s*\d+\s*$/.test(text) && integer(text.trim()) !== null ? set(text.trim()) : form.set(path, new Draft(text, t("form.fault.lookup"))));
  return (
    <Combobox attributes={props.attributes} label={props.label} search={search} shown={value instanceof Draft ? value.text : known?.name ?? id ?? ""} title={id} write={write} leave={leave} choose={choose}>
      {known?.about && search.typed.value === null && <span class="unit"><bdi>{visible(known.about)}</bdi></span>}
    </Combobox>
  );
}

async function lookUp(list: string, text: string): Promise<{ found: Found[]; fault?: string }> {
  try {
    const found = text === "" ? [] : await lookup(list, text);
    return { found: found.slice(0, most).map((one) => ({ ...one, id: String(one.id) })) };
  } catch (cause) {
    return { found: [], fault: String((cause as Error).message) };
  }
}
