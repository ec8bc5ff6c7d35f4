// Who changed what, when and why: of a network, a type or an object.
import { useState } from "preact/hooks";
import { idsIn } from "./api";
import { Heading, titleOf } from "./app";
import { equal, isObject, own, pointer, type JsonObject } from "./form/value";
import { useAnswer } from "./hooks";
import { lazy } from "./lazy";
import { address, to } from "./router";
import { placeOf, types } from "./schema";
import { brief, explain, t, type Message } from "./texts";
import { Messages, Plain, Text, Time } from "./values";

const PutBack = lazy(() => import("./putback").then((m) => m.PutBack));

interface Change {
  field: string;
  from?: unknown;
  to?: unknown;
}

/** A version of an object, as /audit lists it. */
export interface Entry extends Message {
  time: string;
  object: { id: string; url: string };
  version: number;
  user?: { id: string; name?: string };
  cause?: Message;
  changes?: Change[];
}

/** The changes of the members of objects, in place of those of the objects. */
export function within(change: Change): Change[] {
  const { field, from, to } = change;
  if (!(isObject(from ?? {}) && isObject(to ?? {}) && (from || to))) return [change];
  const [before, after] = [from ?? {}, to ?? {}] as JsonObject[];
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((name) => !equal(own(before, name), own(after, name)));
  return names.length === 0 ? [change] : names.flatMap((name) => within({ field: field + pointer([name]), from: own(before, name), to: own(after, name) }));
}

/** How many changed fields of an entry are shown at once. */
const maxFields = 12;
const pageSize = 50;

export function HistoryPage(props: { network: string }) {
  const { network } = props;
  const query = address.value.searchParams;
  const [type, id, cursor] = [query.get("type"), query.get("id"), query.get("cursor")];
  const [again, read] = useState(0);
  const answer = useAnswer<{ results: Entry[]; nextCursor?: string; totalCount: number; truncated?: boolean }>(
    `/api/v1/audit?${new URLSearchParams({ context: network, pageSize: String(pageSize), ...(type && { type }), ...(type && id && { id }), ...(cursor && { cursor }) })}`,
    again,
  );
  const title = type && id ? t("history.object", { type: titleOf(type), id }) : type ? t("history.type", { type: titleOf(type) }) : t("history.network");
  const next = () => {
    const url = new URL(address.value);
    url.searchParams.set("cursor", answer!.body.nextCursor!);
    return url.href;
  };
  return (
    <>
      <div class="head">
        <Heading text={title} />
        <span class="actions">
          {type && id && answer?.status === 200 && answer.body.results.length > 0 && (
            <a class="button" href={objectOf(network, answer.body.results[0])}>
              {t("history.open")}
            </a>
          )}
          {type && (
            <a class="button" href={to.list(network, type)}>
              {titleOf(type)}
            </a>
          )}
        </span>
      </div>
      {answer === null ? (
        <p class="busy">{t("status.loading")}</p>
      ) : answer.status !== 200 ? (
        <Messages status={answer.status} messages={(answer.body as any)?.messages} />
      ) : (
        <>
          <p class="count" role="status">
            {t("history.count", { count: answer.body.totalCount })}
          </p>
          <Entries network={network} entries={answer.body.results} onChange={() => read(again + 1)} />
          {again > 0 && <p role="status">{t("putback.done")}</p>}
          <nav class="pages" aria-label={t("list.pages")}>
            {cursor && (
              <a class="button" href={to.history(network, type ?? undefined, id ?? undefined)}>
                {t("history.newest")}
              </a>
            )}
            {answer.body.nextCursor && (
              <a class="button" href={next()}>
                {t("history.older")}
              </a>
            )}
          </nav>
        </>
      )}
    </>
  );
}

/** The names that objects have got by changes, by address. */
export function namesIn(entries: Entry[]): Map<string, string> {
  const names = new Map<string, string>();
  for (const { object, changes } of entries.toReversed()) {
    for (const { field, to } of changes ?? []) if (field === "/name" && typeof to === "string") names.set(object.url, to);
  }
  return names;
}

/** A notification about a warning, as an entry of the history. */
export const noted = (note: Entry & { warning: Message }): Entry => ({ ...note, params: { ...note.params, warning: explain(note.warning) } });

/** Changes, which can be put back if a function is to know of that. */
export function Entries(props: { network: string; entries: Entry[]; names?: Map<string, string>; onChange?: () => void }) {
  const names = props.names ?? namesIn(props.entries);
  return (
    <ol class="history">
      {props.entries.map((entry, i) => (
        <li class="row" key={`${i} ${entry.object.url} ${entry.version}`}>
          <One network={props.network} entry={entry} name={names.get(entry.object.url) ?? entry.object.id} onChange={props.onChange} />
        </li>
      ))}
    </ol>
  );
}

/** The address of the page of the object that an entry is about. */
export const objectOf = (network: string, entry: Entry) => to.object(network, String(entry.params?.type ?? ""), ...idsIn(entry.object.url));

function One(props: { network: string; entry: Entry; name: string; onChange?: () => void }) {
  const { network, entry, onChange } = props;
  const [puttingBack, putBack] = useState(false);
  const type = String(entry.params?.type ?? "");
  const possible = onChange && entry.code === "audit.object.updated" && types.value.some((one) => one.type === type && one.writable);
  const changes = (entry.changes ?? []).flatMap(within);
  return (
    <>
      <a href={objectOf(network, entry)}>
        <bdi>{titleOf(type)}</bdi> <bdi>{brief(props.name, 60)}</bdi>
      </a>{" "}
      <span class="what">
        <Text text={explain({ ...entry, text: t(`history.${entry.code}`) === `history.${entry.code}` ? entry.text : t(`history.${entry.code}`) })} />
      </span>
      <p class="by">
        <Time value={entry.time} />
        {entry.user && (
          <>
            {" · "}
            <a href={to.object(network, "users", entry.user.id)}>
              <bdi>{brief(entry.user.name || entry.user.id, 60)}</bdi>
            </a>
          </>
        )}
        {" · "}
        {t("history.version", { version: entry.version })}
        {entry.cause && (
          <>
            {" · "}
            <Text text={explain(entry.cause)} />
          </>
        )}
      </p>
      {changes.length > 0 && (
        <details open={onChange && changes.length <= 3}>
          <summary>{t("history.fields", { count: changes.length })}</summary>
          <table>
            <thead>
              <tr>
                <th scope="col">{t("history.what")}</th>
                <th scope="col">{t("history.from")}</th>
                <th scope="col">{t("history.to")}</th>
              </tr>
            </thead>
            <tbody>
              {changes.slice(0, maxFields).map((change) => (
                <tr key={change.field}>
                  <th scope="row">
                    <Text text={placeOf(change.field)} max={80} />
                  </th>
                  <td data-title={t("history.from")}>
                    <Plain value={change.from} max={200} />
                  </td>
                  <td data-title={t("history.to")}>{"from" in change || "to" in change ? <Plain value={change.to} max={200} /> : t("putback.secret")}</td>
                </tr>
              ))}
            </tbody>
          </table>
          {possible && (
            <button type="button" onClick={() => putBack(true)}>
              {t("putback.open")}
            </button>
          )}
          {puttingBack && (
            <PutBack
              network={network}
              type={type}
              entry={entry}
              onClose={(done) => {
                putBack(false);
                if (done) onChange?.();
              }}
            />
          )}
          {changes.length > maxFields && <p class="hint">{t("history.more", { count: changes.length - maxFields })}</p>}
        </details>
      )}
    </>
  );
}
