// A reference: a combobox that searches on the server, and ways to open or create what
// it refers to beside the form.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { api, pathOf } from "../api";
import { brief, explain, t, visible } from "../texts";
import { types } from "../schema";
import { Picker } from "../picker";
import { Name, nameKey } from "./change";
import { emptied } from "./controls";
import type { ControlProps } from "./field";
import { Form, useForm, useValue } from "./model";
import { Schema, Target, every, label, shapeOf, target } from "./schema";
import { Draft, Json, Path, get, isObject, own } from "./value";

interface Found {
  id: string;
  name: string;
  url?: string;
}

/** Lookup is how objects of a type are found. */
interface Lookup {
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

const lookups = new Map<string, Promise<Lookup | undefined>>();

/** lookup reads the schema of a type, once while the page is open. */
function lookup(type: string, network: string): Promise<Lookup | undefined> {
  const key = nameKey(type, network);
  let known = lookups.get(key);
  if (!known) {
    known = api.get<Schema>(`/api/schemas/${type}?mine=true&context=${encodeURIComponent(network)}`).then(({ status, body }) => {
      const resource = body?.["x-resource"];
      if (status === 200) return { label: resource.label ?? "name", search: (resource.search ?? []).length > 0, ...parentOf(body, resource.parent) };
      lookups.delete(key);
      return undefined;
    });
    lookups.set(key, known);
  }
  return known;
}

function parentOf(schema: Schema, property: string | undefined): { parent?: Parent } {
  const declared = property === undefined ? undefined : own(schema.properties as Schema, property);
  const to = declared && target(shapeOf(schema, declared, undefined, [], new Map()));
  return to ? { parent: { property: property!, label: label(property!, declared), type: to.type } } : {};
}

/** idsIn returns the ids in the address of an object, behind that of its parent, if it has one. */
const idsIn = (url: string) => url.split("?")[0]!.split("/").slice(4).map(decodeURIComponent);

const quoted = (value: string) => `"${value.replace(/\\/g, "\\\\").replace(/"/g, '\\"')}"`;
const most = 20;

async function find(to: Target, network: string, text: string, below: (parent: Parent) => string): Promise<{ found: Found[]; fault?: string }> {
  const how = await lookup(to.type, network);
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
  const { path, shape, attributes } = props;
  const form = useForm();
  const to = target(shape)!;
  const value = useValue(path);
  form.renamed.value; // subscribes to names
  const id = isObject(value) ? (value.id as string | undefined) : typeof value === "string" && to.form !== "object" ? value : undefined;
  const known = id === undefined ? undefined : form.names.get(nameKey(to.type, id));
  /** Whether a text can stand in place of the reference. */
  const free = to.form === "object" && [...every(form.schema.value, [props.schema])].some(({ type }) => type === "string");
  const typed = useSignal<string | null>(null);
  const found = useSignal<Found[] | null>(null);
  const fault = useSignal("");
  const active = useSignal(-1);
  /** Below which object is looked for, once it is known that there is one. */
  const below = useSignal<{ parent: Parent; id: string } | null>(null);
  const turn = useRef(0);
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);

  const search = (text: string) => {
    clearTimeout(timer.current);
    const mine = ++turn.current;
    timer.current = window.setTimeout(async () => {
      const answer = await find(to, networkOf(form, to, path), text, (parent) => (below.value ??= { parent, id: parentIn(form, path, parent, known) }).id);
      if (mine !== turn.current) return;
      const exact = ({ id, name }: Found) => Number([id, name].some((one) => one.toLowerCase() === text.toLowerCase()));
      found.value = answer.found.sort((a, b) => exact(b) - exact(a));
      fault.value = answer.fault ?? "";
      active.value = answer.found.length > 0 && text && !free ? 0 : -1;
    }, 150);
  };
  const close = () => {
    clearTimeout(timer.current);
    turn.current++;
    typed.value = found.value = null;
    fault.value = "";
  };
  const choose = (one: Found) => {
    form.names.set(nameKey(to.type, one.id), { name: one.name, ...(one.url !== undefined && { url: one.url }) });
    form.renamed.value++;
    form.set(path, to.form === "object" ? { id: one.id } : one.id);
    close();
  };
  const write = (text: string) => {
    typed.value = text;
    if (text === "") form.set(path, emptied(props) as Json | undefined);
    else if (free) form.set(path, text);
    search(text);
  };
  const leave = () => {
    const text = typed.value;
    const match = found.value?.find((one) => one.id === text || one.name === text);
    if (match) choose(match);
    else if (text && !free) form.set(path, new Draft(text, t("form.fault.reference"))), close();
    else close();
  };
  const key = (event: KeyboardEvent) => {
    const list = found.value ?? [];
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (found.value === null) search(typed.value ?? "");
      else active.value = (active.value + (event.key === "ArrowDown" ? 1 : list.length - 1) + list.length) % Math.max(1, list.length);
    } else if (event.key === "Enter" && found.value !== null) {
      event.preventDefault();
      if (list[active.value]) choose(list[active.value]!);
    } else if (event.key === "Escape" && (found.value !== null || typed.value !== null)) {
      event.stopPropagation();
      close();
    }
  };
  const shown = typed.value ?? (value instanceof Draft ? value.text : known?.name ?? id ?? (typeof value === "string" ? value : ""));
  const list = attributes.id + "-list";
  const seen = types.value.find(({ type }) => type === to.type);
  const beside = (open?: string) => (!form.beside.peek()?.dirty || confirm(t("form.leave"))) && (form.beside.value = {
    type: to.type, network: networkOf(form, to, path), ...(open !== undefined && { id: known?.url === undefined ? open : idsIn(known.url).join("/") }),
    saved: (saved, name) => choose({ id: open ?? saved, name, ...(open !== undefined && known?.url !== undefined && { url: known.url }) }),
  });
  return (
    <div class="reference">
      <input {...attributes} type="text" role="combobox" aria-autocomplete="list" aria-expanded={found.value !== null} aria-controls={list} dir="auto" autocomplete="off" spellcheck={false}
        aria-activedescendant={active.value >= 0 && found.value ? `${list}-${active.value}` : undefined} value={shown} title={id}
        onInput={(event) => write(event.currentTarget.value)} onKeyDown={key} onClick={() => found.value === null && search("")} onBlur={leave} />
      {form.besides && seen && id !== undefined && typed.value === null && <button type="button" aria-label={t("form.reference.open.label", { label: props.label })} onClick={() => beside(id)}>{t("form.reference.open")}</button>}
      {form.besides && seen?.writable && !seen.parent && id === undefined && <button type="button" aria-label={t("form.reference.create.label", { label: props.label })} onClick={() => beside()}>{t("form.reference.create")}</button>}
      {below.value && <Picker label={below.value.parent.label} network={networkOf(form, to, path)} type={below.value.parent.type} value={below.value.id} onPick={(id) => { below.value = { ...below.value!, id }; search(typed.value ?? ""); }} />}
      <ul id={list} role="listbox" aria-label={props.label} hidden={found.value === null}>
        {(found.value ?? []).map((one, i) => (
          <li id={`${list}-${i}`} key={one.id} role="option" aria-selected={i === active.value} dir="auto" onMouseDown={(event) => { event.preventDefault(); choose(one); }}>
            {brief(one.name)}{one.name !== one.id && <span class="unit"> {visible(one.id)}</span>}
          </li>
        ))}
      </ul>
      <p class="unit" role="status">{fault.value || (found.value && (found.value.length === 0 ? t("form.reference.none") : found.value.length === most ? t("form.reference.more", { count: most }) : ""))}</p>
    </div>
  );
}
