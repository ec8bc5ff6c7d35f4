// A reference: a combobox that searches on the server, and ways to open or create what
// it refers to beside the form.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { api, pathOf } from "../api";
import { explain, t } from "../texts";
import { types } from "../schema";
import { visible } from "../values";
import { nameKey } from "./change";
import { emptied } from "./controls";
import type { ControlProps } from "./field";
import { Form, useForm, useValue } from "./model";
import { Schema, Target, target } from "./schema";
import { Draft, Json, Path, get, isObject } from "./value";

interface Found {
  id: string;
  name: string;
}

/** Lookup is how objects of a type are found. */
interface Lookup {
  label: string;
  search: boolean;
  parent: boolean;
}

const lookups = new Map<string, Promise<Lookup | undefined>>();

/** lookup reads the schema of a type, once while the page is open. */
function lookup(type: string, network: string): Promise<Lookup | undefined> {
  const key = nameKey(type, network);
  let known = lookups.get(key);
  if (!known) {
    known = api.get<Schema>(`/api/schemas/${type}?mine=true&context=${encodeURIComponent(network)}`).then(({ status, body }) => {
      const resource = body?.["x-resource"];
      if (status === 200) return { label: resource.label ?? "name", search: (resource.search ?? []).length > 0, parent: resource.parent !== undefined };
      lookups.delete(key);
      return undefined;
    });
    lookups.set(key, known);
  }
  return known;
}

const quoted = (value: string) => `"${value.replace(/\\/g, "\\\\").replace(/"/g, '\\"')}"`;
const most = 20;

async function find(to: Target, network: string, text: string): Promise<{ found: Found[]; fault?: string }> {
  const how = await lookup(to.type, network);
  if (!how || how.parent) return { found: [] };
  const query: Record<string, string> = { fields: `id,${how.label}`, pageSize: String(most), count: "false" };
  if (to.where) query.where = Object.entries(to.where).map(([name, value]) => `${name}=${quoted(value)}`).join(";");
  if (text && how.search) query.q = text;
  else if (text) Object.assign(query, { filterBy: how.label, filterByLike: text });
  let answer = await api.get(pathOf(to.type, network, undefined, query));
  if (answer.status === 200 && answer.body.results.length === 0 && text) {
    answer = await api.get(pathOf(to.type, network, undefined, byId(query, text)));
  }
  if (answer.status !== 200) return { found: [], fault: (answer.body?.messages ?? []).map(explain).join(" ") || t("form.fault.unreachable") };
  return { found: answer.body.results.map((one: Schema) => ({ id: one.id, name: typeof one[how.label] === "string" ? one[how.label] : one.id })) };
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

export function Reference(props: ControlProps) {
  const { path, shape, attributes, label } = props;
  const form = useForm();
  const to = target(shape)!;
  const value = useValue(path);
  form.renamed.value; // subscribes to names
  const id = isObject(value) ? (value.id as string | undefined) : typeof value === "string" ? value : undefined;
  const known = id === undefined ? undefined : form.names.get(nameKey(to.type, id));
  const typed = useSignal<string | null>(null);
  const found = useSignal<Found[] | null>(null);
  const fault = useSignal("");
  const active = useSignal(-1);
  const turn = useRef(0);
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);

  const search = (text: string) => {
    clearTimeout(timer.current);
    const mine = ++turn.current;
    timer.current = window.setTimeout(async () => {
      const answer = await find(to, networkOf(form, to, path), text);
      if (mine !== turn.current) return;
      found.value = answer.found;
      fault.value = answer.fault ?? "";
      active.value = answer.found.length > 0 && text ? 0 : -1;
    }, 150);
  };
  const close = () => {
    clearTimeout(timer.current);
    turn.current++;
    typed.value = found.value = null;
    fault.value = "";
  };
  const choose = (one: Found) => {
    form.names.set(nameKey(to.type, one.id), { name: one.name });
    form.renamed.value++;
    form.set(path, to.form === "object" ? { id: one.id } : one.id);
    close();
  };
  const write = (text: string) => {
    typed.value = text;
    if (text === "") form.set(path, emptied(props) as Json | undefined);
    search(text);
  };
  const leave = () => {
    const text = typed.value;
    const match = found.value?.find((one) => one.id === text || one.name === text);
    if (match) choose(match);
    else if (text) form.set(path, new Draft(text, t("form.fault.reference"))), close();
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
  const shown = typed.value ?? (value instanceof Draft ? value.text : known?.name ?? id ?? "");
  const list = attributes.id + "-list";
  const seen = types.value.find(({ type }) => type === to.type);
  const beside = (open?: string) => (!form.beside.peek()?.dirty || confirm(t("form.leave"))) && (form.beside.value = { type: to.type, network: networkOf(form, to, path), ...(open !== undefined && { id: open }), saved: (id, name) => choose({ id, name }) });
  return (
    <div class="reference">
      <input {...attributes} type="text" role="combobox" aria-autocomplete="list" aria-expanded={found.value !== null} aria-controls={list} dir="auto" autocomplete="off" spellcheck={false}
        aria-activedescendant={active.value >= 0 && found.value ? `${list}-${active.value}` : undefined} value={shown} title={id}
        onInput={(event) => write(event.currentTarget.value)} onKeyDown={key} onClick={() => found.value === null && search("")} onBlur={leave} />
      {form.besides && seen && id !== undefined && typed.value === null && <button type="button" aria-label={t("form.reference.open.label", { label })} onClick={() => beside(id)}>{t("form.reference.open")}</button>}
      {form.besides && seen?.writable && id === undefined && <button type="button" aria-label={t("form.reference.create.label", { label })} onClick={() => beside()}>{t("form.reference.create")}</button>}
      <ul id={list} role="listbox" aria-label={label} hidden={found.value === null}>
        {(found.value ?? []).map((one, i) => (
          <li id={`${list}-${i}`} key={one.id} role="option" aria-selected={i === active.value} dir="auto" onMouseDown={(event) => { event.preventDefault(); choose(one); }}>
            {visible(one.name)}{one.name !== one.id && <span class="unit"> {visible(one.id)}</span>}
          </li>
        ))}
      </ul>
      <p class="unit" role="status">{fault.value || (found.value && (found.value.length === 0 ? t("form.reference.none") : found.value.length === most ? t("form.reference.more", { count: most }) : ""))}</p>
    </div>
  );
}
