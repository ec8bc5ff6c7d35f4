// An object: its declared properties as fields, and its other members as entries with
// names of their own.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { expression } from "../pattern";
import { brief, t } from "../texts";
import { ControlProps, Field, Required } from "./field";
import { required } from "./kinds";
import { blank } from "./list";
import { useDerived, useForm } from "./model";
import { Shape, declared, flat, label, memberSchema, shapeOf, target } from "./schema";
import { JsonObject, Path, get, isBlank, isObject, own, pointer } from "./value";

export function Group(props: ControlProps & { about?: ComponentChildren }) {
  const { path, shape, label, place, attributes, reason } = props;
  const form = useForm();
  const at = pointer(path);
  const there = useDerived(() => isObject(get(form.value.value, path)), [form, at]);
  const preset = useDerived(() => path.length < 2 || !isBlank(get(form.value.peek(), path)), [form, at]);
  const open = useDerived(() => form.open.value.get(at), [form, at]) ?? preset;
  const optional = place === "property" && !props.required;
  if (!there) {
    return (
      <fieldset class="field group" aria-label={label}>
        <legend><bdi>{label}</bdi><Required {...props} /></legend>
        {props.about}
        {reason ? t("form.unset") : <button type="button" id={attributes.id} onClick={() => { form.set(path, blank(form, { ...shape.schema, type: "object" }, path)); form.reveal(at); }}>{t("form.add", { label })}</button>}
      </fieldset>
    );
  }
  return (
    <fieldset class="field group" aria-label={label} id={attributes.id} aria-describedby={attributes["aria-describedby"]}>
      <legend><button type="button" class="fold" aria-expanded={open} onClick={() => form.toggle(path, !open)}><bdi>{label}</bdi></button><Required {...props} /></legend>
      {open && (
        <>
          {props.about}
          <Members path={path} schema={props.schema} shape={shape} reason={reason} />
          {!reason && (
            <div class="tools">
              <button type="button" onClick={() => form.asJson(path, true)}>{t("form.as.json", { label })}</button>
              {optional && <button type="button" onClick={() => { form.set(path, undefined); form.refocus(attributes.id); }}>{t("form.remove.label", { label })}</button>}
            </div>
          )}
        </>
      )}
    </fieldset>
  );
}

/** Members are the fields of an object, whose schema can be that of the type. */
export function Members({ path, schema, shape, reason, first }: { path: Path; schema: unknown; shape: Shape; reason?: string | undefined; first?: string }) {
  const form = useForm();
  const s = shape.schema;
  const needed = useDerived(() => required(shape, get(form.value.value, path)).join("\0"), [form, shape, pointer(path)]).split("\0");
  const names = useDerived(() => order(form, schema, shape, path, first).join("\0"), [form, schema, shape, pointer(path), first]).split("\0").filter(Boolean);
  const others = s.patternProperties || (s.additionalProperties !== undefined && s.additionalProperties !== false) || s.unevaluatedProperties;
  return (
    <>
      {names.map((name) => (
        <Field key={name} path={[...path, name]} schema={own(s.properties, name)} label={label(name, own(s.properties, name))} place="property" required={needed.includes(name)} reason={reason} />
      ))}
      {others && <Entries path={path} schema={schema} shape={shape} reason={reason} />}
    </>
  );
}

/** order puts the label first, then what is always required, single values, and groups. What becomes required while
 * somebody types stays where it is. */
function order(form: ReturnType<typeof useForm>, schema: unknown, shape: Shape, path: Path, first?: string): string[] {
  const s = shape.schema;
  const always = isObject(schema) ? flat(form.schema.value, schema).required : [];
  const rank = (name: string) => {
    const inner = shapeOf(form.schema.value, s.properties[name], undefined, [...path, name], form.choices.peek());
    const group = (inner.type === "object" || inner.type === "array") && !target(inner);
    return name === first ? 0 : (group ? 3 : 1) + (always.includes(name) ? 0 : 1);
  };
  const names = Object.keys(s.properties ?? {}).filter((name) => s.properties[name] !== false);
  const ranks = new Map(names.map((name) => [name, rank(name)]));
  return names.sort((a, b) => ranks.get(a)! - ranks.get(b)!);
}

/** Entries are the members of an object that are not declared by name, also not under another condition. */
function Entries({ path, schema, shape, reason }: { path: Path; schema: unknown; shape: Shape; reason?: string | undefined }) {
  const form = useForm();
  const s = shape.schema;
  const name = useSignal("");
  const fault = useSignal("");
  const present = useDerived(() => {
    const value = get(form.value.value, path);
    const all = declared(form.schema.value, schema);
    return isObject(value) ? JSON.stringify(Object.keys(value).filter((name) => !all.has(name) && value[name] !== undefined)) : "[]";
  }, [form, schema, shape, pointer(path)]);
  const names: string[] = JSON.parse(present);
  const allowed: string[] | undefined = s.propertyNames?.enum;
  const add = () => {
    const value = get(form.value.peek(), path) as JsonObject | undefined;
    const schema = memberSchema(shape, name.value);
    const pattern = s.propertyNames?.pattern && expression(s.propertyNames.pattern);
    if (name.value === "" && !allowed && s.propertyNames?.minLength) fault.value = t("form.fault.empty");
    else if (own(value, name.value) !== undefined) fault.value = t("form.fault.name.used");
    else if (schema === false || (allowed && !allowed.includes(name.value)) || (pattern && !pattern.test(name.value))) fault.value = t("form.fault.name");
    else {
      const at = [...path, name.value];
      form.set(at, blank(form, schema, at));
      name.value = fault.value = "";
      form.reveal(pointer(at));
    }
  };
  const id = form.id(path) + "-name";
  return (
    <div class="entries">
      {names.map((entry) => (
        <div class="item" key={entry}>
          <Field path={[...path, entry]} schema={memberSchema(shape, entry)} label={brief(entry) || t("form.entry.nameless")} place="entry" reason={reason} />
          {!reason && <button type="button" onClick={() => { form.set([...path, entry], undefined); form.moved(path); form.refocus(id); }}>{t("form.remove.label", { label: entry })}</button>}
        </div>
      ))}
      {!reason && (
        <div class="add">
          <label for={id}>{t("form.entry.name")}</label>
          {allowed ? (
            <select id={id} value={name.value} onChange={(event) => (name.value = event.currentTarget.value)}>
              <option value="">{t("form.unset")}</option>
              {allowed.filter((one) => !names.includes(one)).map((one) => <option>{one}</option>)}
            </select>
          ) : (
            <input id={id} dir="auto" value={name.value} aria-invalid={fault.value !== ""} aria-describedby={fault.value ? id + "-fault" : undefined} onInput={(event) => (name.value = event.currentTarget.value)}
              onKeyDown={(event) => { if (event.key === "Enter") { event.preventDefault(); add(); } }} />
          )}
          <button type="button" onClick={add}>{t("form.entry.add")}</button>
          {fault.value && <p class="fault" id={id + "-fault"} role="alert">{fault.value}</p>}
        </div>
      )}
    </div>
  );
}

