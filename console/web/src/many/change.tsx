// Sets properties of the selected objects: first as a trial, then in transactions, each object
// on condition that it is the one of the trial.

import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { api, pathOf } from "../api";
import { visible } from "../form/change";
import { Field } from "../form/field";
import { Form, FormContext, notes } from "../form/model";
import { withCommon } from "../form/saving";
import { Schema, label, membersOf, shapeOf } from "../form/schema";
import "../form/texts";
import { JsonObject, drafts, own, pointer, put } from "../form/value";
import { to } from "../router";
import { labelOf } from "../schema";
import { select, selected, size } from "../selection";
import { t } from "../texts";
import { Messages } from "../values";
import { Operation, Transactions } from "./batch";
import { Progress, Results, Title, reasons } from "./report";
import "./texts";

/** mostSelected is how many objects can be changed at once. */
const mostSelected = 50_000;
/** atOnce is how many versions are read at the same time. */
const atOnce = 6;

interface One extends Operation {
  id: string;
  name: string;
}

interface Props {
  network: string;
  type: string;
  parent: string;
  schema: Schema;
  list: string;
  onClose: () => void;
  onDone: () => void;
}

/** Returns the schema of a type without what holds for new objects only. */
function settable(schema: Schema): Schema {
  const whole = withCommon(schema, false);
  const properties: Schema = {};
  for (const [name, written] of membersOf(whole, whole)) {
    const shape = shapeOf(whole, written, undefined, [name], new Map());
    const s = shape.schema;
    if (s.readOnly || s["x-derived"] || s["x-sequence"] || s["x-immutable"] || name === schema["x-resource"]?.parent) continue;
    const { default: _, "x-default": __, "x-initial": ___, "x-transitions": ____, ...rest } = shape.alternatives || ["object", "array"].includes(shape.type ?? "") ? written : { ...s, title: written.title ?? s.title };
    put(properties, name, rest);
  }
  return { ...whole, properties, required: [] };
}

export function ChangeMany(props: Props) {
  const { network, type, parent, schema, list } = props;
  const form = useMemo(() => {
    const made = new Form(type, network, settable(schema), {}, {}, true, new Map());
    made.besides = false;
    return made;
  }, [schema]);
  const names = useSignal<string[]>([]);
  const trial = useSignal<Transactions<One> | null>(null);
  const writing = useSignal<Transactions<One> | null>(null);
  const reading = useSignal<{ done: number; total: number } | null>(null);
  const fault = useSignal<{ status: number; messages?: [] } | null>(null);
  const stopped = useRef(false);
  useEffect(() => () => void (stopped.current = true), []);
  const now = selected(list);
  const count = size(now);
  const path = parent ? `${type}/${encodeURIComponent(parent)}` : type;
  const properties: Schema = form.schema.value.properties;

  /** Reads the ids of a list that is selected as a whole. */
  const collect = async (): Promise<Map<string, string> | null> => {
    if (!now.all) return new Map(now.names);
    const found = new Map<string, string>();
    const name = labelOf(schema);
    for (let cursor = ""; ; ) {
      const answer = await api.get(pathOf(path, network, undefined, { ...now.all.query, fields: `id,${name}`, pageSize: "1000", count: "false", ...(cursor && { cursor }) }));
      if (answer.status !== 200) {
        fault.value = { status: answer.status, messages: answer.body?.messages };
        return null;
      }
      for (const row of answer.body.results) found.set(row.id, String(row[name] ?? row.id));
      cursor = answer.body.nextCursor ?? "";
      if (stopped.current) return null;
      if (!cursor || found.size >= mostSelected) return found;
    }
  };

  const values = (): JsonObject | null => {
    const all: JsonObject = {};
    for (const name of names.value) put(all, name, visible(form.schema.value, own(properties, name), own(form.value.value, name), form.choices.value, [name]) ?? null);
    const incomplete = drafts(all);
    form.faults.value = notes(incomplete.map(({ path: at, draft }) => ({ code: "", text: draft.reason, params: { field: pointer(at) } })));
    return incomplete.length > 0 ? null : all;
  };

  const tryOut = async () => {
    const set = values();
    if (!set || reading.value) return;
    stopped.current = false;
    fault.value = null;
    reading.value = { done: 0, total: count };
    const found = await collect();
    const rows = [...(found ?? [])];
    const operations: One[] = []; // in the order of the rows, with holes for those that are gone
    const gone: One[] = [];
    let next = 0, done = 0;
    const read = async () => {
      while (next < rows.length && !stopped.current && !fault.value) {
        const at = next++;
        const [id, name] = rows[at]!;
        const answer = await api.get(pathOf(path, network, id, { fields: "id" }));
        const one: One = { id, name, object: { id, ...(parent && { [schema["x-resource"].parent]: parent }), ...set } };
        if (answer.status === 200) operations[at] = { ...one, ifMatch: answer.headers.get("ETag") ?? "*" };
        else if (answer.status === 404) gone.push(one);
        else fault.value = { status: answer.status, messages: answer.body?.messages };
        if (++done % 20 === 0) reading.value = { done, total: rows.length };
      }
    };
    await Promise.all(Array.from({ length: atOnce }, read));
    reading.value = null;
    if (!found || stopped.current || fault.value) return;
    const run = new Transactions(network, type, form.schema.value, operations.filter(Boolean), true);
    for (const one of gone) run.refuse(one, [{ code: "", text: t("many.gone") }]);
    trial.value = run;
    await run.go();
  };

  const write = async () => {
    const run = new Transactions(network, type, form.schema.value, trial.value!.accepted, false);
    writing.value = run;
    await go(run);
  };

  /** Writes; what was refused, and what was not sent, stays selected. */
  const go = async (run: Transactions<One>) => {
    await run.go();
    const left = new Map<string, string>(), why = new Map<string, string>();
    for (const { operation, messages } of [...trial.value!.refused, ...run.refused]) {
      left.set(operation.id, operation.name);
      why.set(operation.id, reasons(messages));
    }
    run.rest.forEach(({ id, name }, i) => {
      left.set(id, name);
      why.set(id, t(i < run.unknown ? "many.rest.unknown" : "many.rest"));
    });
    select({ list, names: left, all: null, reasons: why });
    props.onDone();
  };

  const named = (one: One) => ({ text: one.name, href: to.object(network, type, ...(parent ? [parent] : []), one.id) });
  const run = writing.value ?? trial.value;
  const busy = run?.running.value ?? false;
  return (
    <section class="many form" aria-labelledby="many">
      <Title id="many">{t("many.change", { count: run?.total ?? count })}</Title>
      {count > mostSelected && !run ? (
        <p class="notice">{t("many.bound", { most: mostSelected.toLocaleString(), total: count.toLocaleString() })}</p>
      ) : !run ? (
        <FormContext.Provider value={form}>
          <form noValidate aria-labelledby="many" onSubmit={(event) => event.preventDefault()}>
            {names.value.map((name) => {
              const title = label(name, own(properties, name));
              return (
                <div class="item" key={name}>
                  <div>
                    <Field path={[name]} schema={own(properties, name)} label={title} place="property" />
                    {own(form.value.value, name) === undefined && <p class="hint">{t("many.change.empty", { label: title })}</p>}
                  </div>
                  <button type="button" onClick={(event) => { event.currentTarget.closest("form")!.querySelector<HTMLElement>("select[name=property]")!.focus(); names.value = names.value.filter((one) => one !== name); form.set([name], undefined); }}>{t("many.change.drop", { label: title })}</button>
                </div>
              );
            })}
            <label>
              <span>{t("many.change.add")}</span>
              <select name="property" value="" onChange={(event) => { const name = event.currentTarget.value; if (name) names.value = [...names.value, name]; event.currentTarget.value = ""; form.reveal(pointer([name])); }}>
                <option value="" />
                {Object.keys(properties).filter((name) => !names.value.includes(name)).map((name) => <option key={name} value={name}>{label(name, own(properties, name))}</option>)}
              </select>
            </label>
          </form>
        </FormContext.Provider>
      ) : (
        <>
          {!writing.value && <p>{t("many.trial")}</p>}
          <Progress run={run} onGo={() => void (writing.value ? go(run) : run.go())} />
          {!busy && <Results run={run} named={named} />}
          {writing.value && !busy && run.refused.length + trial.value!.refused.length > 0 && <p>{t("many.selected")}</p>}
        </>
      )}
      {reading.value && (
        <div class="progress">
          <progress max={reading.value.total} value={reading.value.done} aria-label={t("many.progress")} />
          <span role="status">{t("many.reading", { done: reading.value.done.toLocaleString(), total: reading.value.total.toLocaleString() })}</span>
          <button type="button" onClick={() => { stopped.current = true; }}>{t("many.stop")}</button>
        </div>
      )}
      {fault.value && <Messages {...fault.value} />}
      <p class="actions">
        {!run && names.value.length > 0 && count > 0 && count <= mostSelected && <button type="button" class="primary" aria-disabled={reading.value !== null} onClick={tryOut}>{t("many.change.try")}</button>}
        {run && !writing.value && !busy && run.rest.length === 0 && run.accepted.length > 0 && (
          <button type="button" class="primary" onClick={write}>{t("many.change", { count: run.accepted.length })}</button>
        )}
        {run && !busy && <button type="button" onClick={() => { trial.value = writing.value = null; }}>{t("many.back")}</button>}
        {!busy && <button type="button" onClick={props.onClose}>{t("many.close")}</button>}
      </p>
    </section>
  );
}
