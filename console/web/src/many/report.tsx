// The progress and the results of transactions, and files that are made in the page.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { guard } from "../router";
import { brief, explain, t, type Message } from "../texts";
import { placeOf } from "../schema";
import { Messages, Text } from "../values";
import type { Noted, Operation, Transactions } from "./batch";

const mostShown = 100;

/** Title is the heading of a task, to which the button that has opened it passes the focus, and which gives it back. */
export function Title({ id, children }: { id: string; children: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => {
    const task = heading.current!.parentElement!;
    const opener = document.activeElement as HTMLElement;
    if (opener.matches("body, [data-task]")) heading.current!.focus();
    return () => {
      if (task.contains(document.activeElement)) (opener.matches("[data-task]") ? opener : document.querySelector<HTMLElement>("main h1"))?.focus();
    };
  }, []);
  return <h2 id={id} tabIndex={-1} ref={heading}>{children}</h2>;
}

/** Progress shows how far transactions are, and stops and continues them. */
export function Progress<O extends Operation>({ run, onGo }: { run: Transactions<O>; onGo: () => void }) {
  const done = run.done.value;
  const running = run.running.value;
  const fault = run.fault.value;
  const rest = run.rest.length;
  useLeaving(running && !run.validateOnly);
  useEffect(() => () => run.stop(), [run]);
  const counts = { done, total: run.total, accepted: run.accepted.length, refused: run.refused.length, warned: run.warned.length };
  const numbers = Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, count.toLocaleString()]));
  return (
    <div class="progress">
      <progress max={run.total} value={done} aria-label={t("many.progress")} />
      <span role="status">{t(run.validateOnly ? "many.counts" : "many.counts.written", numbers)}</span>
      {running && <button type="button" onClick={() => run.stop()}>{t("many.stop")}</button>}
      {!running && rest > 0 && (
        <>
          {fault ? <Messages status={fault.status} messages={fault.body?.messages} /> : <p>{t("many.stopped", { count: rest })}</p>}
          <button type="button" onClick={onGo}>{t("many.again")}</button>
        </>
      )}
    </div>
  );
}

/** useLeaving asks before the page is left. */
export function useLeaving(asks: boolean): void {
  useLayoutEffect(() => (asks ? guard(() => confirm(t("many.leave"))) : undefined), [asks]);
}

/** Results lists what was refused, and what has warnings. */
export function Results<O extends Operation>({ run, named }: { run: Transactions<O>; named: (operation: O) => { text: string; href?: string | undefined } }) {
  run.done.value; // subscribes to the results
  return (
    <>
      <List title={t("many.refused")} kind="fault" notes={run.refused} named={named} />
      <List title={t("many.warned")} kind="warning" notes={run.warned} named={named} />
    </>
  );
}

function List<O>({ title, kind, notes, named }: { title: string; kind: string; notes: Noted<O>[]; named: (operation: O) => { text: string; href?: string | undefined } }) {
  if (notes.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      {notes.length > mostShown && <p class="hint">{t("many.cut", { count: mostShown })}</p>}
      <ul class={`notes ${kind}`}>
        {notes.slice(0, mostShown).map(({ operation, messages }, i) => {
          const { text, href } = named(operation);
          return (
            <li key={i}>
              {href ? <a href={href} target="_blank" rel="noopener"><bdi>{brief(text, 80)}</bdi></a> : <Text text={text} max={80} />}: <Text text={reasons(messages)} />
            </li>
          );
        })}
      </ul>
    </>
  );
}

/** Why an object was refused. The places of faults are written as the history writes those of changes. */
export const reasons = (messages: Message[]): string => messages.map((message) => explain({ ...message, params: { ...message.params, ...(typeof message.params?.field === "string" && { field: placeOf(message.params.field) }) } })).join(" ");

/** Save is a link that saves a file, which can stand besides what is to be done first. */
export function Save({ blob, name, besides }: { blob: Blob; name: string; besides?: boolean }) {
  const url = useMemo(() => URL.createObjectURL(blob), [blob]);
  useEffect(() => () => URL.revokeObjectURL(url), [url]);
  return <a class={besides ? "button" : "button primary"} href={url} download={name}>{t("many.save", { name })}</a>;
}
