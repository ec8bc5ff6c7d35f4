// An array: its items as fields, of which long arrays show one page.

import type { ComponentChildren } from "preact";
import { t } from "../texts";
import { initial } from "./change";
import { ControlProps, Field, Required } from "./field";
import { Form, pageSize, useDerived, useForm } from "./model";
import { itemSchema, lookedUp, shapeOf, target } from "./schema";
import { Draft, Json, Path, get, pointer } from "./value";

/** blank returns what an item or an entry begins with. */
export function blank(form: Form, schema: unknown, path: Path): Json {
  const shape = shapeOf(form.schema.peek(), schema, undefined, path, form.choices.peek());
  const s = shape.schema;
  if (s.default !== undefined) return s.default;
  if (shape.nullable) return null;
  if (!s.enum && !target(shape) && !lookedUp(shape) && !shape.alternatives) {
    if (shape.type === "object") return initial(form.schema.peek(), schema);
    if (shape.type === "array") return [];
    if (shape.type === "boolean") return false;
    if (shape.type === "string" && !s.format) return "";
  }
  return new Draft("", t("form.fault.empty"));
}

export function List(props: ControlProps & { about?: ComponentChildren }) {
  const { path, shape, label, attributes, reason } = props;
  const form = useForm();
  const at = pointer(path);
  const length = useDerived(() => { const value = get(form.value.value, path); return Array.isArray(value) ? value.length : 0; }, [form, at]);
  const there = useDerived(() => Array.isArray(get(form.value.value, path)), [form, at]);
  const page = Math.min(useDerived(() => form.pages.value.get(at) ?? 0, [form, at]), Math.max(0, Math.ceil(length / pageSize) - 1));
  const change = (to: (items: Json[]) => Json[]) => {
    form.set(path, to((get(form.value.peek(), path) ?? []) as Json[]));
    form.moved(path);
  };
  const add = () => {
    change((items) => [...items, blank(form, itemSchema(shape, items.length), [...path, items.length])]);
    form.reveal(`${at}/${length}`);
  };
  const remove = (index: number) => {
    change((items) => items.filter((_, i) => i !== index));
    form.refocus(attributes.id + "-add");
  };
  const swap = (index: number) => change((items) => items.map((item, i) => (i === index ? items[i + 1]! : i === index + 1 ? items[i - 1]! : item)));
  const first = page * pageSize;
  const shown = Array.from({ length: Math.max(0, Math.min(pageSize, length - first)) }, (_, i) => first + i);
  const most = shape.schema.maxItems ?? (shape.schema.prefixItems && !shape.schema.items && !shape.schema.unevaluatedItems ? shape.schema.prefixItems.length : Infinity);
  return (
    <fieldset class="field list" aria-label={label} id={attributes.id} aria-describedby={attributes["aria-describedby"]}>
      <legend><bdi>{label}</bdi><Required {...props} />{length > 0 && <span class="count"> {t("form.items", { count: length })}</span>}</legend>
      {props.about}
      {length > pageSize && <Pages path={path} page={page} length={length} label={label} />}
      {shown.map((i) => (
        <div class="item" key={i}>
          <Field path={[...path, i]} schema={itemSchema(shape, i)} label={`${label} ${i + 1}`} place="item" required reason={reason} />
          {!reason && (
            <div class="tools">
              {i > 0 && <button type="button" aria-label={t("form.up.label", { label: `${label} ${i + 1}` })} onClick={() => swap(i - 1)}>↑</button>}
              {i + 1 < length && <button type="button" aria-label={t("form.down.label", { label: `${label} ${i + 1}` })} onClick={() => swap(i)}>↓</button>}
              <button type="button" aria-label={t("form.remove.label", { label: `${label} ${i + 1}` })} onClick={() => remove(i)}>{t("form.remove")}</button>
            </div>
          )}
        </div>
      ))}
      {!reason && (
        <div class="tools">
          {length < most && <button type="button" id={attributes.id + "-add"} onClick={add}>{t("form.add.item", { label })}</button>}
          {!there && <button type="button" onClick={() => { form.set(path, []); form.refocus(attributes.id + "-add"); }}>{t("form.set.empty", { label })}</button>}
          {there && <button type="button" onClick={() => form.asJson(path, true)}>{t("form.as.json", { label })}</button>}
          {there && props.place === "property" && !props.required && <button type="button" onClick={() => { form.set(path, undefined); form.moved(path); form.refocus(attributes.id + "-add"); }}>{t("form.remove.label", { label })}</button>}
        </div>
      )}
    </fieldset>
  );
}

function Pages({ path, page, length, label }: { path: Path; page: number; length: number; label: string }) {
  const form = useForm();
  const last = Math.ceil(length / pageSize) - 1;
  return (
    <nav class="tools" aria-label={t("form.pages", { label })}>
      <button type="button" disabled={page === 0} onClick={() => form.toPage(path, page - 1)}>{t("form.pages.before")}</button>
      <span>{t("form.pages.shown", { first: page * pageSize + 1, last: Math.min(length, (page + 1) * pageSize), length })}</span>
      <button type="button" disabled={page === last} onClick={() => form.toPage(path, page + 1)}>{t("form.pages.after")}</button>
      <label>{t("form.pages.go")} <input type="number" min={1} max={length} size={6} onChange={(event) => form.toPage(path, Math.max(0, Math.min(last, Math.floor((Number(event.currentTarget.value) - 1) / pageSize))))} /></label>
    </nav>
  );
}
