// The page of an object: its form, saving, conflicts, and other objects beside it.

import { useComputed, useSignal } from "@preact/signals";
import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { randomId } from "./api";
import { Heading, titleOf } from "./app";
import "./form/texts";
import { ConflictView } from "./form/conflict";
import { Alternatives, named } from "./form/field";
import { Members } from "./form/group";
import { noKind } from "./form/kinds";
import { matches } from "./form/match";
import { Beside, Form, FormContext, useShape } from "./form/model";
import { Opened, Outcome, conflict, idsOf, lost, open, others, resolve, save } from "./form/saving";
import type { Schema } from "./form/schema";
import { JsonObject, steps } from "./form/value";
import { lazy } from "./lazy";
import { load, Panels } from "./module";
import { Remove } from "./remove";
import { address, guard, navigate, to } from "./router";
import { types } from "./schema";
import { brief, t, visible } from "./texts";
import { Text, timeOf } from "./values";

const ReferredBy = lazy(() => import("./type").then((m) => m.ReferredBy));
const NewToken = lazy(() => import("./admin/token").then((m) => m.NewToken));

/** The page of an object, or of a new one. */
export function ObjectPage(props: { type: string; network: string; ids?: string[] }) {
  return <Editor key={[props.type, props.network, ...(props.ids ?? [])].join("\n")} {...props} />;
}

interface EditorProps {
  type: string;
  network: string;
  /** The id of the object, behind that of its parent, if it has one. */
  ids?: string[];
  /** Set for an object beside a form. */
  beside?: { saved(id: string, name: string): void; close(): void; note(dirty: boolean): void };
}

function Editor(props: EditorProps) {
  const { type, network, ids = [] } = props;
  const opened = useSignal<Opened | null>(null);
  const fault = useSignal("");
  useEffect(() => {
    let current = true;
    if (!props.beside) load().catch(() => {}); // beside the object; the panels say why it could not be loaded
    void open(type, network, ids, props.beside ? "" : address.value.searchParams.get("parent") ?? "").then((result) => {
      if (!current) return;
      if ("fault" in result) fault.value = result.fault;
      else opened.value = result;
    });
    return () => void (current = false);
  }, []);
  if (fault.value) return <>{!props.beside && <Heading text={titleOf(type)} />}<p role="alert" class="fault">{fault.value}</p></>;
  if (!opened.value) return <p role="status">{t("form.loading")}</p>;
  return <FormContext.Provider value={opened.value.form}><FormView {...props} opened={opened.value} /></FormContext.Provider>;
}

/** The id of the object that the page has just created, and now shows. */
let created = "";

function nameOf(form: Form, object: Schema): string {
  const name = object[form.schema.value["x-resource"]?.label ?? "name"];
  return typeof name === "string" && name ? name : String(object.id ?? "");
}

function FormView(props: EditorProps & { opened: Opened }) {
  const { opened, beside, network, type } = props;
  const { form } = opened;
  const busy = useSignal(false);
  const status = useSignal(opened.object && opened.object.id === created ? t("form.created") : "");
  const failed = useSignal("");
  const removing = useSignal(false);
  const token = useSignal<{ token: string; then: () => void } | null>(null);
  /** The object as somebody else has left it meanwhile, undefined if it is gone, and null as long as it is not known. */
  const other = useSignal<Schema | undefined | null>(null);
  const clash = useSignal<Extract<Outcome, { kind: "conflict" }> | null>(null);
  const summary = useRef<HTMLDivElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const read = useMemo(() => form.schema.peek(), [form]);
  const shape = useShape(form.schema.value, []);
  const start = useMemo(() => form.value.peek(), [form]);
  const dirty = useComputed(() => form.value.value !== form.base.value && (form.isNew ? form.value.value !== start : form.change.value !== undefined)).value;
  const resource = form.schema.value["x-resource"] ?? {};
  const methods: string[] = resource.methods ?? ["GET", "POST", "PUT"];
  const info = types.value.find((one) => one.type === type);
  const fixed = (!info || info.writable) && (methods.includes("PUT") || (form.isNew && methods.includes("POST"))) ? undefined : t("form.reason.type");
  const removable = !form.isNew && !beside && info?.writable && methods.includes("DELETE") && other.value !== undefined;
  const first = form.isNew && resource.id === "required" ? "id" : resource.label ?? "name";
  const fields = useMemo(() => (
    <>
      {shape.alternatives && !fixed && <Alternatives path={[]} shape={shape} id={form.id([])} label={visible(form.schema.value.title ?? type)} place="entry"
        required={shape.alternatives.branches.every((branch) => !matches(form.schema.value, branch, {}))} />}
      <Members path={[]} schema={form.schema.value} shape={shape} reason={fixed} first={first} />
    </>
  ), [shape, fixed, first]);
  useLayoutEffect(() => (dirty ? guard(() => confirm(t("form.leave"))) : undefined), [dirty]);
  useLayoutEffect(() => beside?.note(dirty), [dirty]);
  useEffect(() => { created = ""; if (beside) heading.current?.focus(); }, []);

  const followed = !form.isNew && info !== undefined && info.scope !== "global";
  useEffect(() => {
    other.value = null;
    if (!followed) return;
    const ended = new AbortController();
    void others(opened, ended.signal).then((found) => ended.signal.aborted || (other.value = found));
    return () => ended.abort();
  }, [opened.etag, followed]);

  /** Reads what the other has made of it: to be shown, or compared with what has been typed. */
  const look = async () => {
    const outcome = await conflict(opened);
    if (outcome.kind === "failed") failed.value = outcome.text;
    else if (outcome.kind === "conflict" && form.change.peek()) clash.value = outcome;
    else if (outcome.kind === "conflict") {
      resolve(opened, outcome.theirs, outcome.etag);
      status.value = "";
      other.value = null;
      top();
    }
  };
  const top = () => (heading.current ?? document.querySelector<HTMLElement>("main h1"))?.focus();

  const submit = async () => {
    if (busy.value) return;
    busy.value = true;
    failed.value = "";
    status.value = t("form.saving");
    const focused = document.activeElement as HTMLElement | null;
    const outcome = await save(opened);
    busy.value = false;
    status.value = "";
    clash.value = other.value = null;
    switch (outcome.kind) {
      case "saved": {
        status.value = t("form.saved");
        const then = () => {
          if (beside) beside.saved(outcome.created ?? opened.ids.at(-1)!, nameOf(form, outcome.shown!));
          else if (outcome.created !== undefined) done(outcome.created);
        };
        if (type === "tokens" && typeof outcome.shown?.token === "string") token.value = { token: outcome.shown.token, then };
        else then();
        break;
      }
      case "unchanged":
        status.value = t("form.unchanged");
        break;
      case "failed":
        failed.value = outcome.text;
        queueMicrotask(() => document.activeElement === document.body && focused?.focus());
        break;
      case "conflict":
        if (outcome.merge.conflicts.length === 0 && outcome.merge.yours.length === 0) settle(outcome, outcome.merge.merged);
        else clash.value = outcome;
        break;
      case "refused":
        queueMicrotask(() => summary.current?.focus());
    }
  };
  const done = (id: string) => {
    created = id;
    setTimeout(() => navigate(to.object(network, type, ...idsOf(form, id)), { replace: true }));
  };
  const back = () => {
    if (clash.value) queueMicrotask(top); // as the view of the conflict, which had the focus, is gone
    clash.value = null;
  };
  const settle = (outcome: Extract<Outcome, { kind: "conflict" }>, result: JsonObject) => {
    resolve(opened, outcome.theirs, outcome.etag, result);
    back();
    if (form.change.peek()) void submit();
    else status.value = t("form.merged.all", { user: userOf(outcome.theirs) });
  };
  const object = opened.object;
  const title = form.isNew ? t("form.new", { type: form.schema.value.title ?? type }) : nameOf(form, object);
  const gone = form.schema.value === read ? [] : lost(form, read);
  return (
    <>
      <div class={form.beside.value ? "form besides" : "form"}>
        {beside ? <h2 tabIndex={-1} ref={heading} dir="auto"><Text text={title} plain /></h2> : <Heading text={title} />}
        {!form.isNew && <p class="unit"><a href={to.list(network, type)}><bdi>{brief(form.schema.value.title ?? type)}</bdi></a> · <bdi>{visible(object.id)}</bdi> · {t("form.updated", { time: timeOf(object.updateTime), user: userOf(object) })} · <a href={to.history(network, type, object.id)}>{t("history.title")}</a></p>}
        {form.schema.value !== read && <div role="alert" class="warning"><p>{t("form.schema.changed")}</p>{gone.length > 0 && <p>{t("form.schema.lost", { fields: gone.join(", ") })}</p>}</div>}
        {!form.isNew && !beside && <Panels version={opened.etag} place={{ type, network, id: opened.ids.at(-1)!, object }} />}
        {clash.value ? (
          <ConflictView merge={clash.value.merge} user={userOf(clash.value.theirs)} resolve={(result) => settle(clash.value!, result)} back={back} />
        ) : (
          <form noValidate onSubmit={(event) => event.preventDefault()} aria-label={brief(title)}
            onKeyDown={(event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void submit(); }}>
            <Summary form={form} refer={summary} />
            <div class="fields" inert={busy.value && form.isNew}>{fields}</div>
            <Bar>
              <div role="status" class="others">{other.value !== null && !busy.value && (
                <p class="notice"><bdi>{other.value ? t("form.others", { user: brief(userOf(other.value), 60) }) : t("form.others.gone")}</bdi>{" "}
                {other.value && <button type="button" onClick={look}>{t(dirty ? "form.others.compare" : "form.others.show")}</button>}</p>
              )}</div>
              {!fixed && <button type="button" class="primary" aria-disabled={busy.value} aria-keyshortcuts="Control+Enter" onClick={submit}>{t(form.isNew ? "form.create" : "form.save")}</button>}
              {dirty && !busy.value && <button type="button" onClick={() => { if (confirm(t("form.leave"))) { form.reset(start === form.base.value || form.isNew ? start : form.base.value); top(); } }}>{t("form.reset")}</button>}
              {removable && !dirty && !busy.value && <button type="button" onClick={() => (removing.value = true)}>{t("remove.open")}</button>}
              {beside && <button type="button" onClick={() => { if (!dirty || confirm(t("form.leave"))) beside.close(); }}>{t("form.close")}</button>}
              <span role="status">{dirty && !busy.value ? t("form.unsaved") : status.value}</span>
              {failed.value && <p role="alert" class="fault" dir="auto">{failed.value}</p>}
            </Bar>
          </form>
        )}
        {!form.isNew && !beside && <ReferredBy type={type} network={network} id={object.id} />}
      </div>
      {removing.value && <Remove network={network} type={type} ids={opened.ids} etag={opened.etag} name={title} onLook={look}
        onClose={() => { removing.value = false; if (document.activeElement === document.body) top(); }} />}
      {token.value && <NewToken token={token.value.token} onClose={() => { const { then } = token.value!; token.value = null; then(); }} />}
      {form.beside.value && <Panel form={form} beside={form.beside.value} />}
    </>
  );
}

const userOf = (object: Schema): string => object.updateUser?.name ?? object.updateUser?.id ?? t("form.conflict.somebody");

/** Bar stays in sight below the fields, and covers none that has the focus, whatever appears in it. */
function Bar({ children }: { children: ComponentChildren }) {
  const bar = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const shown = bar.current!, form = shown.parentElement!, scrolled = form.closest<HTMLElement>(".beside") ?? document.documentElement;
    const watcher = new ResizeObserver(() => {
      scrolled.style.setProperty("--bar", `${shown.offsetHeight + 40}px`); // of a text, the line with the caret is scrolled there
      const focused = document.activeElement!, [field, { top, bottom }] = [focused, shown].map((e) => e.getBoundingClientRect()) as [DOMRect, DOMRect];
      if (form.contains(focused) && !shown.contains(focused) && field.bottom > top && field.top < bottom) focused.scrollIntoView({ block: "nearest" });
    });
    watcher.observe(shown);
    return () => {
      watcher.disconnect();
      scrolled.style.removeProperty("--bar");
    };
  }, []);
  return <div class="actions" ref={bar}>{children}</div>;
}

/** Summary lists the faults, with ways to their fields, and the warnings that name no field. */
function Summary({ form, refer }: { form: Form; refer: RefObject<HTMLDivElement | null> }) {
  const faults = [...form.faults.value].flatMap(([at, messages]) => messages.map((message) => ({ at, message })));
  const general = form.warnings.value.get("") ?? [];
  return (
    <>
      {faults.length > 0 && (
        <div class="summary fault" role="alert" tabIndex={-1} ref={refer}>
          <h2>{t("form.faults", { count: faults.length })}</h2>
          <ul>
            {faults.map(({ at, message }) => {
              const { labels } = form.place(steps(at));
              const said = named(form, message);
              const text = labels.length === 0 || (labels.length === 1 && said.startsWith(labels[0]!)) ? said : `${labels.join(" › ")}: ${said}`;
              return <li>{at === "" && message.code !== noKind ? <Text text={text} /> : <button type="button" class="link" onClick={() => form.reveal(at)}><bdi>{brief(text)}</bdi></button>}</li>;
            })}
          </ul>
        </div>
      )}
      {general.map((message) => <p class="warning" dir="auto"><Text text={named(form, message)} plain /></p>)}
    </>
  );
}

/** Panel shows another object beside the form. */
function Panel({ form, beside }: { form: Form; beside: Beside }) {
  const [opener, field] = useMemo(() => [document.activeElement as HTMLElement | null, document.activeElement?.closest(".reference")], [beside]);
  const key = useMemo(() => randomId(), [beside]);
  const close = () => {
    form.beside.value = null;
    queueMicrotask(() => (opener?.isConnected ? opener : field?.querySelector("input"))?.focus());
  };
  return (
    <aside class="beside" onKeyDown={(event) => { if (event.key === "Escape" && !(event.target as Element).closest("dialog") && (!beside.dirty || confirm(t("form.leave")))) close(); }} aria-label={beside.ids?.at(-1) ?? t("form.new", { type: beside.type })}>
      <Editor key={key} type={beside.type} network={beside.network} {...(beside.ids && { ids: beside.ids })}
        beside={{ saved: (id, name) => { beside.saved(id, name); close(); }, close, note: (dirty) => (beside.dirty = dirty) }} />
    </aside>
  );
}
