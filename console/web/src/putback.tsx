// Puts a change of the history back, as a new change.
import { useEffect, useRef, useState } from "preact/hooks";
import { api, type Answer } from "./api";
import { changeOf, stored, type Change } from "./form/change";
import { every, isSecret, propertySchemas } from "./form/schema";
import { get, isObject, pointer, set, type Json, type JsonObject } from "./form/value";
import { within, type Entry } from "./history";
import { placeOf, schemaOf, type Schema } from "./schema";
import { t } from "./texts";
import { Messages, Plain, Text } from "./values";

/** What putting back does to a field, or why it cannot. */
interface Field {
  path: string[];
  now: unknown;
  before: unknown;
  /** The code of the text that says why the field cannot be put back. */
  obstacle?: string;
}

const unescaped = (part: string) => part.replaceAll("~1", "/").replaceAll("~0", "~");

/** Why a member of an object cannot be put back, whichever of its schemas applies. */
function obstacle(root: Schema, object: any, path: string[]): string | undefined {
  let schemas: unknown[] = [root];
  let value = object;
  for (const [depth, name] of path.entries()) {
    if (Array.isArray(value)) return "putback.list";
    const around = [...every(root, schemas)];
    schemas = propertySchemas(root, schemas).get(name) ?? around.map((s) => s.additionalProperties).filter(isObject);
    if (schemas.length === 0) {
      if (depth > 0 && !around.some((s) => s.properties)) break;
      return name === "objectState" && depth === 0 ? undefined : "putback.removed";
    }
    const declared = [...every(root, schemas)];
    if (declared.some(isSecret)) return "putback.secret";
    if (declared.some((s) => s.readOnly || s["x-derived"] || s["x-immutable"])) return "putback.fixed";
    value = value?.[name];
  }
  return undefined;
}

function fieldsOf(schema: Schema, object: Json | undefined, entry: Entry): Field[] {
  return (entry.changes ?? []).map((change) => {
    const path = change.field.slice(1).split("/").map(unescaped);
    const now = get(object, path);
    const hidden = change.from === undefined && change.to === undefined ? "putback.secret" : undefined;
    return { path, now, before: change.from, obstacle: hidden ?? obstacle(schema, object, path) };
  });
}

/** The request that gives fields their former values, undefined if they have them. */
function changeTo(schema: Schema, object: JsonObject, fields: Field[]): Change | undefined {
  const former = fields.reduce((at, { path, before }) => set(at, path, before as Json | undefined) as JsonObject, object);
  return changeOf(object, stored(schema, schema, former, new Map()) as JsonObject);
}

/** A dialog that shows what will be written, and writes it if nobody has changed the object meanwhile. */
export function PutBack(props: { network: string; type: string; entry: Entry; onClose: (done: boolean) => void }) {
  const { entry, onClose } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const [read, show] = useState<{ fields: Field[]; change: Change | undefined; tag: string } | null>(null);
  const [refused, refuse] = useState<Answer | null>(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    dialog.current!.showModal();
    void Promise.all([schemaOf(props.network, props.type), api.get(entry.object.url)]).then(([schema, object]) => {
      const failed = [schema, object].find(({ status }) => status !== 200);
      if (failed) refuse(failed);
      else {
        const now = stored(schema.body, schema.body, object.body, new Map()) as JsonObject;
        const fields = fieldsOf(schema.body, now, entry);
        show({ fields, change: changeTo(schema.body, now, fields.filter((field) => !field.obstacle)), tag: object.headers.get("ETag") ?? "" });
      }
    });
  }, []);
  const write = async () => {
    setBusy(true);
    const { method, body } = read!.change!;
    const answer = await api.send(method, entry.object.url, body, { "If-Match": read!.tag });
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
            {read.fields.flatMap(({ path, now, before, obstacle }) => {
              const change = { field: pointer(path), from: now, to: before };
              return (obstacle ? [change] : within(change)).map(({ field, from, to }) => (
                <tr key={field}>
                  <th scope="row">
                    <Text text={placeOf(field)} max={80} />
                  </th>
                  <td data-title={t("putback.now")}>
                    <Plain value={from} max={120} />
                  </td>
                  <td data-title={t("putback.then")}>{obstacle ? t(obstacle) : <Plain value={to} max={120} />}</td>
                </tr>
              ));
            })}
          </tbody>
        </table>
      )}
      <p class="actions">
        {read?.change && (
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
