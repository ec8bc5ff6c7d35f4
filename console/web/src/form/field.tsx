// A field: its label, description, faults and warnings around the control that fits
// its schema.

import type { ComponentChildren, JSX } from "preact";
import { explain, t } from "../texts";
import { Text as Shown } from "../values";
import { Check, Choice, DateTime, Duration, Fixed, Number_, Secret, Several, Text } from "./controls";
import { Group } from "./group";
import { JsonText } from "./json";
import { noKind } from "./kinds";
import { List } from "./list";
import { hasType } from "./match";
import { Form, useDerived, useForm, useShape } from "./model";
import { Looked, Reference } from "./reference";
import { Shape, branchName, lookedUp, target } from "./schema";
import { Draft, Json, Path, get, isObject, pointer, steps } from "./value";

/** Place is where a value stands: a declared property, a member of a map, or an item of an array, of which the
 * last two stay when they are emptied. */
export type Place = "property" | "entry" | "item";

export interface FieldProps {
  path: Path;
  schema: unknown;
  label: string;
  place: Place;
  required?: boolean;
  /** Why nothing in the field can be changed. */
  reason?: string | undefined;
}

/** ControlProps are those of a control, which has the id and the descriptions of its field. */
export interface ControlProps extends FieldProps {
  shape: Shape;
  attributes: { id: string; "aria-describedby": string | undefined; "aria-invalid": boolean; "aria-required": boolean };
}

type Kind = "reference" | "looked" | "choice" | "several" | "string" | "number" | "boolean" | "object" | "array" | "json" | "secret" | "duration" | "time" | "none";

const single: Kind[] = ["reference", "looked", "choice", "string", "number", "boolean", "json", "secret", "time"];
const maxDepth = 10;

function kindOf(shape: Shape, value: Json | undefined, path: Path, raw: boolean): Kind {
  const s = shape.schema;
  if (raw || path.length > maxDepth) return "json";
  if (target(shape) && (value === undefined || value === null || typeof value === "string" || value instanceof Draft || target(shape)!.form === "object")) return "reference";
  if (shape.alternatives && shape.alternatives.chosen < 0) return "none";
  if (shape.type === "string" && (s["x-secret"] || isPassword(s))) return "secret";
  if (s.enum) return "choice";
  if (lookedUp(shape) !== undefined && (value === undefined || value === null || value instanceof Draft || isObject(value))) return "looked";
  if (value !== undefined && value !== null && !(value instanceof Draft) && shape.type && !hasType(shape.type, value)) return "json";
  switch (shape.type) {
    case "string":
      if (s.format === "duration" && (value === undefined || value === null || value instanceof Draft || durationLike(value))) return "duration";
      return ["date-time", "date", "local-date-time"].includes(s.format) && timeLike(s.format, value) ? "time" : "string";
    case "integer":
    case "number":
      return "number";
    case "boolean":
      return "boolean";
    case "object":
      return (s.properties || isObject(s.additionalProperties) || s.patternProperties || isObject(s.unevaluatedProperties)) && !(value instanceof Draft) ? "object" : "json";
    case "array":
      if (value instanceof Draft || !(isObject(s.items) || s.prefixItems || isObject(s.unevaluatedItems))) return "json";
      return s.uniqueItems && Array.isArray(s.items?.enum) && s.items.enum.every((one: Json) => typeof one !== "object") &&
        (value === undefined || value === null || (value as Json[]).every((item) => s.items.enum.includes(item))) ? "several" : "array";
  }
  return "json";
}

/** isPassword reports whether a text is never returned, and has no control of its own. */
const isPassword = (s: Shape["schema"]) => s.writeOnly && !s.enum && !s.format;

const durationLike = (value: Json) => typeof value === "string" && /^P(?=.)(\d+Y)?(\d+M)?(\d+W)?(\d+D)?(T(?=.)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?$/.test(value);

function timeLike(format: string, value: Json | undefined): boolean {
  if (value === undefined || value === null || value instanceof Draft) return true;
  return typeof value === "string" && (format === "date" ? /^\d{4}-\d\d-\d\d$/ : /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?Z?$/).test(value);
}

const controls: Record<Exclude<Kind, "none">, (props: ControlProps) => JSX.Element> = {
  reference: Reference, looked: Looked, choice: Choice, several: Several, string: Text, number: Number_, boolean: Check, object: Group, array: List,
  json: JsonText, secret: Secret, duration: Duration, time: DateTime,
};

export function Field(props: FieldProps): JSX.Element | null {
  const form = useForm();
  const { path, schema } = props;
  const at = pointer(path);
  const shape = useShape(schema, path);
  const kind = useDerived(() => kindOf(shape, get(form.value.value, path), path, form.raw.value.has(at)), [form, shape, at]);
  const noted = useDerived(() => form.faults.value.has(at) || form.warnings.value.has(at) || draftOf(form, path) !== undefined, [form, at]);
  const bad = useDerived(() => form.faults.value.has(at) || draftOf(form, path) !== undefined, [form, at]);
  const reason = props.reason ?? form.reason(path, shape);
  const id = form.id(path);
  const described = [noted && id + "-notes", hint(shape) && id + "-hint", reason && id + "-reason"].filter(Boolean).join(" ");
  const control: ControlProps = {
    ...props, shape, reason,
    attributes: { id, "aria-describedby": described || undefined, "aria-invalid": bad, "aria-required": props.required ?? false },
  };
  const Control = reason && ["json", "object", "array", "none"].indexOf(kind) < 0 ? Fixed : kind === "none" ? undefined : controls[kind];
  if (reason && kind === "none") return null;
  const grouped = Control !== Fixed && (kind === "object" || kind === "array" || kind === "several" || kind === "duration" || (shape.alternatives !== undefined && !reason));
  const body = (
    <>
      {shape.alternatives && !reason && <Alternatives path={path} shape={shape} id={id} label={props.label} place={props.place} required={props.required ?? false} />}
      {shape.alternatives && !reason && Control && single.includes(kind) && <label for={id}><bdi>{props.label}</bdi></label>}
      {Control && <Control key={kind} {...control} />}
    </>
  );
  const about = (
    <>
      {hint(shape) && <p class="hint" id={id + "-hint"} dir="auto"><Shown text={hint(shape)} plain /></p>}
      {reason && <p class="hint reason" id={id + "-reason"} dir="auto"><Shown text={reason} plain /></p>}
      {noted && <Notes path={path} id={id + "-notes"} />}
    </>
  );
  if (grouped && (kind === "object" || kind === "array") && !shape.alternatives) return <Control_ Control={Control!} control={control} about={about} />;
  if (grouped) {
    return (
      <fieldset class="field" id={id + "-field"} aria-label={props.label} aria-describedby={described || undefined}>
        <legend><bdi>{props.label}</bdi><Required {...props} /></legend>
        {about}
        {body}
      </fieldset>
    );
  }
  return (
    <div class="field">
      <div class="label"><label for={id}><bdi>{props.label}</bdi></label><Required {...props} /></div>
      {about}
      {body}
    </div>
  );
}

/** Control_ draws a group or a list, which have their own legends. */
function Control_({ Control, control, about }: { Control: (props: ControlProps & { about?: ComponentChildren }) => JSX.Element; control: ControlProps; about: ComponentChildren }) {
  return <Control {...control} about={about} />;
}

export function Required({ required, reason }: { required?: boolean; reason?: string | undefined }) {
  return required && !reason ? <span class="required"> {t("form.required")}</span> : null;
}

/** draftOf returns what was typed and is not a value. An empty field is a fault when the form is saved. */
function draftOf(form: Form, path: Path): Draft | undefined {
  const value = get(form.value.value, path);
  return value instanceof Draft && value.text !== "" ? value : undefined;
}

function hint(shape: Shape): string {
  const s = shape.schema;
  const parts: string[] = typeof s.description === "string" ? [s.description] : [];
  const example = Array.isArray(s.examples) && !["object", "array", "boolean"].includes(shape.type ?? "") && !s.enum && !s["x-ref"] && !/date|duration/.test(s.format ?? "") ? s.examples[0] : undefined;
  if (s.writeOnly && !(shape.type === "string" && isPassword(s))) parts.push(t("form.secret.never"));
  if (!s.readOnly) parts.push(...bounds(s));
  if (s.default !== undefined && s.default !== null && !s.enum && !["object", "boolean"].includes(typeof s.default)) parts.push(t("form.default", { value: String(s.default) }));
  if (typeof s["x-default"] === "string" && !s.readOnly) parts.push(t("form.default." + s["x-default"]));
  if (example === undefined && s.format === "uri" && !s.readOnly) parts.push(t("form.format.uri"));
  if (example !== undefined && typeof example !== "object") parts.push(t("form.example", { value: String(example) }));
  return parts.join(" ");
}

const bound = { minimum: "least", maximum: "most", exclusiveMinimum: "above", exclusiveMaximum: "below", multipleOf: "multiple", minItems: "items.least", maxItems: "items.most" };

/** bounds says which numbers, and how many items, are accepted. */
const bounds = (s: Shape["schema"]) => Object.entries(bound).filter(([keyword]) => s[keyword] !== undefined).map(([keyword, code]) => t("form.bound." + code, { value: String(s[keyword]) }));

/** Notes are the faults and the warnings of a place. */
function Notes({ path, id }: { path: Path; id: string }) {
  const form = useForm();
  const at = pointer(path);
  const draft = draftOf(form, path);
  return (
    <div class="notes" id={id}>
      {draft && <p class="fault">{draft.reason}</p>}
      {(form.faults.value.get(at) ?? []).filter(({ text }) => text !== draft?.reason).map((message) => <p class="fault" dir="auto"><Shown text={named(form, message)} plain /></p>)}
      {(form.warnings.value.get(at) ?? []).map((message) => <p class="warning" dir="auto"><Shown text={named(form, message)} plain /></p>)}
    </div>
  );
}

/** named explains a message, with the labels of the fields that it names. */
export function named(form: Form, message: Parameters<typeof explain>[0]): string {
  const params = { ...message.params };
  for (const name of ["field", "other"]) {
    const at = params[name];
    if (typeof at === "string" && at.startsWith("/")) params[name] = form.place(steps(at)).labels.pop();
    else if (at === "") params[name] = form.schema.value.title ?? form.type;
  }
  return explain({ ...message, params });
}

/** Alternatives choose one of the branches of a value, which at the root are kinds of objects. */
export function Alternatives({ path, shape, id: field, label, place, required }: { path: Path; shape: Shape; id: string; label: string; place: Place; required: boolean }) {
  const form = useForm();
  const { branches, chosen } = shape.alternatives!;
  const id = field + "-kind";
  const lacks = useDerived(() => form.faults.value.get(pointer(path))?.some(({ code }) => code === noKind) ?? false, [form, pointer(path)]);
  const choose = (index: number) => {
    const value = get(form.value.peek(), path);
    form.choose(path, index);
    if (path.length > 0 && (!isObject(value) || index < 0)) form.set(path, index < 0 && place === "property" ? undefined : index < 0 ? new Draft("", t("form.fault.choose")) : starting(form, branches[index]!, path));
  };
  return (
    <div class="field alternatives">
      <div class="label"><label for={id}>{t("form.kind", { label })}</label><Required required={required} /></div>
      {lacks && path.length === 0 && <p class="fault" id={field + "-notes"}>{t(noKind)}</p>}
      <select id={id} aria-required={required} aria-invalid={lacks} aria-describedby={lacks ? field + "-notes" : undefined} value={String(chosen)} onChange={(event) => choose(Number(event.currentTarget.value))}>
        <option value="-1">{t("form.unset")}</option>
        {branches.map((branch, i) => <option value={String(i)}>{branchName(form.schema.value, branch) || t("form.alternative", { number: i + 1 })}</option>)}
      </select>
    </div>
  );
}

function starting(form: Form, branch: { [keyword: string]: unknown }, path: Path): Json | undefined {
  return blank(form, branch, path);
}

import { blank } from "./list";
