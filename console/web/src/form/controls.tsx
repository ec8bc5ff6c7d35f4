// The controls of single values.

import { useSignal } from "@preact/signals";
import { integer } from "../exact";
import { permissions } from "../schema";
import { brief, t, visible } from "../texts";
import { Text as Shown } from "../values";
import type { ControlProps } from "./field";
import { Form, useForm, useValue } from "./model";
import { nameKey } from "./change";
import { Shape, isSecret, lookedUp, masked, target } from "./schema";
import { Draft, Json, equal, get, isObject } from "./value";

/** emptied returns what an empty control stands for. */
export function emptied({ shape, place, required }: ControlProps): Json | undefined {
  const s = shape.schema;
  if (place !== "property" && shape.nullable) return null;
  const text = shape.type === "string" && !s.enum && !s.format && !target(shape);
  if (place !== "property") return text ? "" : new Draft("", t("form.fault.empty"));
  return required && text && !s.minLength && !s["x-secret"] && !s.writeOnly ? "" : undefined;
}

const shownAs = (value: Json | undefined) => (value instanceof Draft ? value.text : value === undefined || value === null ? "" : String(value));

/** hasLines reports whether a text may have line breaks. */
const hasLines = (s: Shape["schema"]) => !s.format && !s.pattern && (s.maxLength === undefined || s.maxLength > 500) && s.contentEncoding === undefined;

/** longest is how many characters of a text are shown before the user asks for the rest. */
const longest = 20_000;

export function Text(props: ControlProps) {
  return (
    <>
      <Typed {...props} />
      {props.place === "property" && props.shape.type === "string" && !props.shape.schema.format && !props.shape.schema.minLength && emptied(props) === undefined && <Empty {...props} />}
    </>
  );
}

/** Empty tells a text without characters from one that is not set, once there was a text. */
function Empty({ path }: ControlProps) {
  const form = useForm();
  const value = useValue(path);
  const was = useSignal(false);
  if (typeof value === "string" && value !== "") was.value = true;
  const before = get(form.base.value, path);
  if (value === "") return <span class="unit">{t("form.empty")} <button type="button" class="link" onClick={() => form.set(path, undefined)}>{t("form.empty.unset")}</button></span>;
  return value === undefined && (was.value || typeof before === "string") ? <span class="unit">{t("form.unset")} <button type="button" class="link" onClick={() => form.set(path, "")}>{t("form.empty.set")}</button></span> : null;
}

function Typed(props: ControlProps) {
  const { path, shape, attributes } = props;
  const form = useForm();
  const value = shownAs(useValue(path));
  const whole = useSignal(false);
  const s = shape.schema;
  const breaks = value.includes("\r\n") ? "\r\n" : "\n"; // of which a text area makes the latter
  const write = (text: string) => form.set(path, text === "" ? emptied(props) : text.replaceAll("\n", breaks));
  if (value.length > longest && !whole.value) {
    const rest = t("form.whole", { length: value.length.toLocaleString() });
    return (
      <div class="cut">
        <p dir="auto">{visible(value.slice(0, 1000))}…</p>
        <button type="button" id={attributes.id} aria-label={`${rest}: ${props.label}`} onClick={() => { whole.value = true; form.refocus(attributes.id); }}>{rest}</button>
      </div>
    );
  }
  const common = { ...attributes, dir: "auto" as const, value, placeholder: shownAs(s.default), autocomplete: "off", spellcheck: false };
  if (value.includes("\n") || hasLines(s)) {
    return <textarea {...common} rows={Math.min(12, Math.max(2, value.split("\n").length))} onInput={(event) => write(event.currentTarget.value)} />;
  }
  const kinds: Record<string, "email" | "url"> = { email: "email", uri: "url" };
  const list = s.format === "time-zone" || s.format === "currency" ? `${form.prefix}-${s.format}` : undefined;
  return (
    <>
      <input {...common} type={kinds[s.format] ?? "text"} list={list} onInput={(event) => write(event.currentTarget.value)} />
      {list && <datalist id={list}>{Intl.supportedValuesOf(s.format === "currency" ? "currency" : "timeZone").map((one) => <option value={one} />)}</datalist>}
    </>
  );
}

/** useText keeps what is typed, as long as it stands for the value. */
function useText(value: Json | undefined, parse: (text: string) => Json | undefined): [string, (text: string) => void] {
  const typed = useSignal<string | null>(null);
  const shown = typed.value !== null && equal(parse(typed.value), value) ? typed.value : shownAs(value);
  return [shown, (text) => (typed.value = text)];
}

export function Number_(props: ControlProps) {
  const { path, shape, attributes } = props;
  const form = useForm();
  const parse = (text: string): Json | undefined => {
    if (text.trim() === "") return emptied(props);
    const number = Number(text);
    if (!/^\s*-?\d+(\.\d+)?([eE][+-]?\d+)?\s*$/.test(text) || !Number.isFinite(number)) return new Draft(text, t("form.fault.number"));
    if (shape.type === "integer" && !Number.isInteger(number)) return new Draft(text, t("form.fault.integer"));
    return Number.isInteger(number) ? (integer(text.trim()) ?? new Draft(text, t("form.fault.exact"))) : number;
  };
  const [text, type] = useText(useValue(path), parse);
  const write = (typed: string) => {
    type(typed);
    form.set(path, parse(typed));
  };
  return <input {...attributes} type="text" inputMode={shape.type === "integer" ? "numeric" : "decimal"} value={text} placeholder={shownAs(shape.schema.default)} autocomplete="off" onInput={(event) => write(event.currentTarget.value)} />;
}

export function Check(props: ControlProps) {
  const { path, shape, place, attributes } = props;
  const form = useForm();
  const value = useValue(path);
  const preset = shape.schema.default;
  if ((place === "item" && !shape.nullable) || typeof preset === "boolean") {
    return <input {...attributes} aria-required={undefined} type="checkbox" checked={(value ?? preset) === true} onChange={(event) => form.set(path, event.currentTarget.checked)} />;
  }
  const write = (text: string) => form.set(path, text === "" ? emptied(props) : text === "true");
  return (
    <select {...attributes} value={typeof value === "boolean" ? String(value) : ""} onChange={(event) => write(event.currentTarget.value)}>
      <option value="">{t("form.unset")}</option>
      <option value="true">{t("form.yes")}</option>
      <option value="false">{t("form.no")}</option>
    </select>
  );
}

const named = (value: Json, shape?: Shape): string => brief(shape?.titles?.find(([one]) => equal(one, value))?.[1] ?? plain(value));
const plain = (value: Json) => (value === null ? t("form.null") : typeof value === "object" ? JSON.stringify(value) : String(value));

interface Option {
  value: Json;
  text: string;
}

/** options returns the values that can be chosen now: of a state, those that the stored one can change to, by steps
 * for which one of the permissions is held. Null stands for all permissions. */
function options(shape: Shape, before: Json | undefined, held: string[] | null): Option[] {
  const values: Json[] = shape.schema.enum;
  const steps = shape.schema["x-transitions"];
  const first: Json[] | undefined = shape.schema["x-initial"];
  const all = values.map((value) => ({ value, text: named(value, shape) }));
  if (before === undefined || before === null) return first ? all.filter(({ value }) => first.includes(value)) : all;
  if (!steps || (!values.includes(before) && !Object.hasOwn(steps, String(before)))) return all;
  const next: (string | { to: string; permission?: string })[] = Object.hasOwn(steps, String(before)) ? steps[String(before)] : [];
  const possible = next.filter((step) => typeof step === "string" || !step.permission || !held || held.includes(step.permission));
  return [{ value: before, text: named(before, shape) }, ...possible.map((step) => typeof step === "string" ? { value: step, text: named(step, shape) } :
    { value: step.to, text: step.permission ? t("form.step.permission", { to: named(step.to, shape), permission: step.permission }) : named(step.to, shape) })];
}

export function Choice(props: ControlProps) {
  const { path, shape, place, attributes } = props;
  const form = useForm();
  const value = useValue(path);
  const before = get(form.base.value, path);
  const offered = options(shape, before, form.schema.value["x-resource"]?.scope === "global" ? null : permissions.value);
  if (value !== undefined && !(value instanceof Draft) && !offered.some((one) => equal(one.value, value))) offered.push({ value, text: named(value, shape) });
  const chosen = offered.findIndex((one) => equal(one.value, value));
  const preset = shape.schema.default;
  const fixed = shape.schema["x-transitions"] && before !== undefined && before !== null;
  return (
    <select {...attributes} value={String(chosen)} onChange={(event) => form.set(path, offered[Number(event.currentTarget.value)]?.value ?? emptied(props))}>
      {(chosen < 0 || (place === "property" && !fixed)) && <option value="-1">{preset !== undefined ? t("form.default.option", { value: named(preset, shape) }) : t("form.unset")}</option>}
      {offered.map((one, i) => <option value={String(i)}>{one.text}</option>)}
    </select>
  );
}

/** Several chooses from the values of an array without repetitions. */
export function Several({ path, shape, attributes, reason }: ControlProps) {
  const form = useForm();
  const value = (useValue(path) ?? []) as Json[];
  const write = (one: Json, on: boolean) => form.set(path, on ? [...value, one] : value.filter((other) => other !== one));
  return (
    <div class="several">
      {(shape.schema.items.enum as Json[]).map((one, i) => (
        <label>
          <input type="checkbox" id={i === 0 ? attributes.id : undefined} checked={value.includes(one)} disabled={reason !== undefined} onChange={(event) => write(one, event.currentTarget.checked)} /> {named(one)}
        </label>
      ))}
    </div>
  );
}

const timeOf = (iso: string, timeZone?: string) => new Date(iso).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium", timeZone });

const two = (number: number, digits = 2) => String(number).padStart(digits, "0");

/** local returns a time in UTC as the clock here shows it. */
function local(iso: string): string {
  const d = new Date(iso);
  const seconds = d.getMilliseconds() > 0 ? `:${two(d.getSeconds())}.${two(d.getMilliseconds(), 3)}` : d.getSeconds() > 0 ? `:${two(d.getSeconds())}` : "";
  return `${two(d.getFullYear(), 4)}-${two(d.getMonth() + 1)}-${two(d.getDate())}T${two(d.getHours())}:${two(d.getMinutes())}${seconds}`;
}

export function DateTime(props: ControlProps) {
  const { path, shape, attributes } = props;
  const form = useForm();
  const format = shape.schema.format;
  const value = useValue(path);
  const text = shownAs(value);
  const shown = format === "date-time" && text ? local(text) : text;
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const write = (input: HTMLInputElement) => {
    if (input.validity.badInput) return form.set(path, new Draft("", t("form.fault.time")));
    if (input.value === "") return form.set(path, emptied(props));
    form.set(path, format === "date-time" ? new Date(input.value).toISOString() : input.value.length === 16 ? input.value + ":00" : input.value);
  };
  return (
    <>
      <input {...attributes} type={format === "date" ? "date" : "datetime-local"} value={shown} step={format === "date" ? undefined : shown.length > 19 ? "0.001" : shown.length > 16 ? "1" : undefined}
        max={format === "date" ? "9999-12-31" : "9999-12-31T23:59"} onInput={(event) => write(event.currentTarget)}
        onBlur={(event) => { if (event.currentTarget.validity.badInput || value instanceof Draft) write(event.currentTarget); }} />
      {format === "date-time" && <span class="unit">{zone}{text && zone !== "UTC" && !(value instanceof Draft) && <> · <time dateTime={text}>{t("form.utc", { time: timeOf(text, "UTC") })}</time></>}</span>}
    </>
  );
}

const units = ["years", "months", "weeks", "days", "hours", "minutes", "seconds"] as const;
const letters = "YMWDHMS";

export function Duration(props: ControlProps) {
  const { path, attributes } = props;
  const form = useForm();
  const value = useValue(path);
  const parts = value instanceof Draft ? value.text.split(" ") : (/^P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?)?$/.exec(shownAs(value))?.slice(1) ?? []);
  const write = (index: number, text: string) => {
    const now = units.map((_, i) => (i === index ? text.trim() : parts[i] ?? ""));
    if (now.every((part) => part === "")) return form.set(path, emptied(props));
    if (!now.every((part, i) => /^\d*$/.test(part) || (i === 6 && /^\d+\.\d+$/.test(part)))) return form.set(path, new Draft(now.join(" "), t("form.fault.duration")));
    const join = (from: number, to: number) => now.slice(from, to).map((part, i) => (part ? part + letters[from + i] : "")).join("");
    form.set(path, "P" + join(0, 4) + (join(4, 7) && "T" + join(4, 7)));
  };
  return (
    <div class="duration">
      {units.map((unit, i) => (
        <label>
          <input {...(i === 0 ? attributes : {})} type="text" inputMode="numeric" size={4} value={parts[i] ?? ""} onInput={(event) => write(i, event.currentTarget.value)} /> {t("form.unit." + unit)}
        </label>
      ))}
    </div>
  );
}

/** Secret shows whether there is a value, and takes another one. */
export function Secret({ path, shape, attributes }: ControlProps) {
  const form = useForm();
  const value = useValue(path);
  const before = get(form.base.value, path);
  const typed = value !== undefined && !equal(value, before);
  const state = form.isNew ? "" : shape.schema.writeOnly ? t("form.secret.unknown") : before === undefined || before === null ? t("form.secret.unset") : t("form.secret.set");
  const common = { ...attributes, autocomplete: "new-password", value: typed ? shownAs(value) : "", onInput: (event: { currentTarget: { value: string } }) => form.set(path, event.currentTarget.value || before) };
  return (
    <div class="secret">
      {hasLines(shape.schema) ? <textarea {...common} rows={2} spellcheck={false} /> : <input {...common} type="password" />}
      {state && <span class="unit">{value === undefined && before !== undefined ? t("form.secret.removed") : state}</span>}
      {before !== undefined && value !== undefined && <button type="button" onClick={() => { form.set(path, undefined); form.refocus(attributes.id); }}>{t("form.remove")}</button>}
    </div>
  );
}

/** Fixed is a value that cannot be changed here. */
export function Fixed({ path, shape, attributes }: ControlProps) {
  return <output id={attributes.id} aria-describedby={attributes["aria-describedby"]} dir="auto"><Value shape={shape} value={useValue(path)} /></output>;
}

/** longestFixed is how many characters of a value that cannot be changed here are shown at first. */
const longestFixed = 1000;

/** Value is a value as text, cut if it is long, with a way to see the rest. */
export function Value({ shape, value }: { shape: Shape; value: Json | undefined }) {
  const form = useForm();
  return <Shown text={written(form, shape, value)} max={longestFixed} />;
}

function written(form: Form, shape: Shape, value: Json | undefined): string {
  if (value === undefined || value === null) return t("form.unset");
  const s = shape.schema;
  if (isSecret(s)) return t("form.secret.set");
  if (value instanceof Draft) return value.text;
  const to = target(shape);
  const id = isObject(value) ? value.id : value;
  if (to && typeof id === "string") {
    const name = form.names.get(nameKey(to.type, id))?.name;
    return name && name !== id ? `${name} (${id})` : id;
  }
  const list = lookedUp(shape);
  if (list !== undefined && isObject(value)) return form.names.get(nameKey(list, String(value.id)))?.name ?? String(value.id);
  if (s.format === "date-time" && typeof value === "string") return timeOf(value);
  if (shape.titles) return named(value, shape);
  if (typeof value === "boolean") return t(value ? "form.yes" : "form.no");
  return typeof value === "object" ? JSON.stringify(masked(form.schema.peek(), [s], value, t("form.secret.set"))) : String(value);
}
