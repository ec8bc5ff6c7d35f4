// Puts a change of the history back, as a new change.
import { useEffect, useRef, useState } from "preact/hooks";
import { api, type Answer } from "./api";
import type { Entry } from "./history";
import { resolved, schemaOf, type Schema } from "./schema";
import { t } from "./texts";
import { flat, Messages, Text } from "./values";

/** What putting back does to a field, or why it cannot. */
interface Field {
  path: string[];
  now: unknown;
  before: unknown;
  /** The code of the text that says why the field cannot be put back. */
  obstacle?: string;
}

const unescaped = (part: string) => part.replaceAll("~1", "/").replaceAll("~0", "~");

/** Whether a member of each object can be written, and why not. */
function obstacle(root: Schema, object: any, path: string[]): string | undefined {
  let schema: Schema | undefined = root;
  let value = object;
  for (const [depth, name] of path.entries()) {
    if (Array.isArray(value)) return "putback.list";
    const inner: Schema = resolved(root, schema);
    schema = inner.properties?.[name] ?? (typeof inner.additionalProperties === "object" ? inner.additionalProperties : undefined);
    if (!schema) {
      if (depth > 0 && !inner.properties) break;
      return name === "objectState" && depth === 0 ? undefined : "putback.removed";
    }
    const declared = resolved(root, schema);
    if (declared["x-secret"] || declared.writeOnly) return "putback.secret";
    if (declared.readOnly || declared["x-derived"] || declared["x-immutable"]) return "putback.fixed";
    value = value?.[name];
  }
  return undefined;
}

function fieldsOf(schema: Schema, object: any, entry: Entry): Field[] {
  return (entry.changes ?? []).map((change) => {
    const path = change.field.slice(1).split("/").map(unescaped);
    const now = path.reduce((at: any, name) => (typeof at === "object" && at !== null ? at[name] : undefined), object);
    const hidden = change.from === undefined && change.to === undefined ? "putback.secret" : undefined;
    return { path, now, before: change.from, obstacle: hidden ?? obstacle(schema, object, path) };
  });
}

/** The merge patch that gives fields their former values. */
export function patchOf(fields: Pick<Field, "path" | "before">[]): Schema {
  const patch: Schema = {};
  for (const { path, before } of fields) {
    const inner = path.slice(0, -1).reduce((at: any, name) => (at[name] ??= {}), patch);
    inner[path.at(-1)!] = before ?? null;
  }
  return patch;
}

/** A dialog that shows what will be written, and writes it if nobody has changed the object meanwhile. */
export function PutBack(props: { network: string; type: string; entry: Entry; onClose: (done: boolean) => void }) {
  const { entry, onClose } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const [read, show] = useState<{ fields: Field[]; tag: string } | null>(null);
  const [refused, refuse] = useState<Answer | null>(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    dialog.current!.showModal();
    void Promise.all([schemaOf(props.network, props.type), api.get(entry.object.url)]).then(([schema, object]) => {
      const failed = [schema, object].find(({ status }) => status !== 200);
      if (failed) refuse(failed);
      else show({ fields: fieldsOf(schema.body, object.body, entry), tag: object.headers.get("ETag") ?? "" });
    });
  }, []);
  const possible = read?.fields.filter((field) => !field.obstacle) ?? [];
  const write = async () => {
    setBusy(true);
    const answer = await api.send("PATCH", entry.object.url, patchOf(possible), { "Content-Type": "application/merge-patch+json", "If-Match": read!.tag });
    setBusy(false);
    if (answer.status === 200) onClose(true);
    else refuse(answer);
  };
  return (
    <dialog ref={dialog} class="wide" aria-labelledby="putback" onClose={() => onClose(false)}>
      <h2 id="putback">{t("putback.title", { version: entry.version })}</h2>
      {refused && <Messages status={refused.status} messages={refused.body?.messages} />}
      {read === null && !refused && <p class="busy">{t("status.loading")}</p>}
      {read && (
        <table>
          <thead>
            <tr>
              <th scope="col">{t("history.what")}</th>
              <th scope="col">{t("putback.now")}</th>
              <th scope="col">{t("putback.then")}</th>
            </tr>
          </thead>
          <tbody>
            {read.fields.map((field) => (
              <tr key={field.path.join("/")}>
                <th scope="row">
                  <Text text={field.path.join(" › ")} max={80} />
                </th>
                <td>
                  <Text text={flat(field.now ?? "–")} max={120} />
                </td>
                <td>{field.obstacle ? t(field.obstacle) : <Text text={flat(field.before ?? "–")} max={120} />}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <p class="actions">
        {possible.length > 0 && (
          <button type="button" class="primary" disabled={busy} onClick={write}>
            {t("putback.do")}
          </button>
        )}
        <button type="button" onClick={() => dialog.current!.close()}>
          {t("app.cancel")}
        </button>
      </p>
    </dialog>
  );
}
