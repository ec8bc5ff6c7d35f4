// Imports a file: its columns are matched to properties, its first rows are previewed, and what is
// rejected can be saved with the reasons.

import { useSignal } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import { withCommon } from "../form/saving";
import type { Schema } from "../form/schema";
import "../form/texts";
import type { Json, JsonObject } from "../form/value";
import { t } from "../texts";
import { Text, flat } from "../values";
import { Operation, Transactions } from "./batch";
import { matching, placed, places, read } from "./cells";
import { readFile, rejectedFile, type Row, type Table } from "./file";
import { Progress, Results, Save, Title, reasons } from "./report";
import "./texts";

const previewed = 100;

interface One extends Operation {
  row: Row;
}

interface Props {
  network: string;
  type: string;
  title: string;
  schema: Schema;
  /** Whether objects that exist can be changed. */
  changes: boolean;
  onClose: () => void;
  onDone: () => void;
}

export function Import(props: Props) {
  const { network, type } = props;
  const schema = useMemo(() => withCommon(props.schema, true), [props.schema]);
  const all = useMemo(() => places(schema), [schema]);
  const table = useSignal<Table | null>(null);
  const fault = useSignal("");
  const paths = useSignal<string[]>([]);
  /** What was chosen for columns, which are those of a corrected file, too. */
  const assigned = useRef(new Map<string, string>());
  const isNew = useSignal(!props.changes);
  const preview = useSignal<Transactions<One> | null>(null);
  const writing = useSignal<Transactions<One> | null>(null);
  const run = writing.value ?? preview.value;
  const busy = run?.running.value ?? false;
  run?.done.value; // subscribes to the results

  const take = async (file: File | undefined) => {
    table.value = preview.value = writing.value = null;
    fault.value = "";
    if (!file) return;
    const found = await readFile(file, type);
    if (typeof found === "string") fault.value = found;
    else {
      table.value = found;
      paths.value = found.columns.map((name) => assigned.current.get(name) ?? matching(all, name));
    }
  };
  const assign = (column: number, path: string) => {
    assigned.current.set(table.value!.columns[column]!, path);
    paths.value = paths.value.map((one, i) => (i === column ? path : one));
    preview.value = null;
  };
  const twice = paths.value.find((path, i) => path !== "" && paths.value.indexOf(path) !== i);

  const objectOf = (row: Row, csv: boolean, columns: string[]): JsonObject => {
    const object: JsonObject = {};
    columns.forEach((name, i) => {
      const path = paths.value[i]!;
      const value = row.values[name] as Json | undefined;
      if (path === "" || value === undefined || !Object.hasOwn(row.values, name)) return;
      if (csv) placed(object, path, read(schema, all.find((one) => one.path === path)!.schema, value as string));
      else placed(object, path, value);
    });
    return object;
  };
  const begin = (rows: Row[], validateOnly: boolean): Transactions<One> => {
    const { csv, columns } = table.value!;
    const operations = rows.filter((row) => !row.fault).map((row): One => ({ row, object: objectOf(row, csv, columns), ...(isNew.value && { ifNoneMatch: "*" }) }));
    const made = new Transactions(network, type, schema, operations, validateOnly);
    for (const row of rows) if (row.fault) made.refuse({ row, object: {} }, [{ code: "", text: row.fault }]);
    return made;
  };
  const look = () => {
    preview.value = begin(table.value!.rows.slice(0, previewed), true);
    void preview.value.go();
  };
  const write = async () => {
    writing.value = begin(table.value!.rows, false);
    await go(writing.value);
  };
  const go = async (made: Transactions<One>) => {
    await made.go();
    props.onDone();
  };
  const rejected = useMemo(() => {
    if (!run || busy || run.refused.length + (writing.value ? run.rest.length : 0) === 0) return null;
    const rows = [...run.refused.map(({ operation, messages }) => ({ row: operation.row, reason: reasons(messages) })),
      ...(writing.value ? run.rest : []).map(({ row }, i) => ({ row, reason: t(i < run.unknown ? "many.rest.unknown" : "many.rest") }))];
    return rejectedFile(table.value!, rows.sort((a, b) => a.row.line - b.row.line));
  }, [run, busy, run?.done.value]);

  return (
    <section class="many" aria-labelledby="import">
      <Title id="import">{t("import.title", { type: props.title })}</Title>
      {(!writing.value || (!busy && writing.value.rest.length === 0)) && (
        <label>
          <span>{t("import.file")}</span>
          <input type="file" accept=".csv,.ndjson,.jsonl,.json,text/csv,application/x-ndjson" disabled={busy} onChange={(event) => void take(event.currentTarget.files?.[0])} />
        </label>
      )}
      {fault.value && <p class="fault" role="alert">{fault.value}</p>}
      {table.value && !writing.value && (
        <>
          <p role="status">{t("import.parsed", { count: table.value.rows.length, faults: table.value.rows.filter((row) => row.fault).length.toLocaleString() })}</p>
          <Columns table={table.value} paths={paths.value} all={all} disabled={busy} onAssign={assign} />
          {twice !== undefined && <p class="fault" role="alert">{t("import.twice", { property: twice })}</p>}
          {props.changes && (
            <label class="check">
              <input type="checkbox" checked={isNew.value} disabled={busy} onChange={(event) => { isNew.value = event.currentTarget.checked; preview.value = null; }} />
              {t("import.new")}
            </label>
          )}
        </>
      )}
      {run && (
        <>
          <h3>{t(writing.value ? "many.writes" : "many.trial")}</h3>
          <Progress run={run} onGo={() => void go(run)} />
          {!busy && <Results run={run} named={({ row }) => ({ text: t("import.line", { line: row.line }) })} />}
        </>
      )}
      <p class="actions">
        {table.value && !run && twice === undefined && paths.value.some(Boolean) && <button type="button" class="primary" onClick={look}>{t("import.preview", { count: Math.min(previewed, table.value.rows.length) })}</button>}
        {preview.value && !writing.value && !busy && preview.value.rest.length === 0 && <button type="button" class="primary" onClick={write}>{t("import.write", { count: table.value!.rows.length })}</button>}
        {rejected && <Save besides={!writing.value} blob={rejected} name={`${type}-rejected.${table.value!.csv ? "csv" : "ndjson"}`} />}
        {!busy && <button type="button" onClick={props.onClose}>{t("many.close")}</button>}
      </p>
    </section>
  );
}

/** Columns shows which property each column has, and lets it be corrected. */
function Columns(props: { table: Table; paths: string[]; all: ReturnType<typeof places>; disabled: boolean; onAssign: (column: number, path: string) => void }) {
  const { table, paths, all } = props;
  const sample = (name: string) => table.rows.find((row) => Object.hasOwn(row.values, name))?.values[name];
  return (
    <div class="scroll" role="region" aria-label={t("import.columns")} tabIndex={0}>
      <table class="wrapped">
        <thead>
          <tr>
            <th scope="col">{t("import.column")}</th>
            <th scope="col">{t("import.sample")}</th>
            <th scope="col">{t("import.property")}</th>
          </tr>
        </thead>
        <tbody>
          {table.columns.map((name, i) => (
            <tr key={i}>
              <th scope="row"><Text text={name} max={80} /></th>
              <td><Text text={flat(sample(name) ?? "")} max={80} /></td>
              <td>
                <select aria-label={t("import.property.of", { column: name })} value={paths[i]} disabled={props.disabled} onChange={(event) => props.onAssign(i, event.currentTarget.value)}>
                  <option value="">{t("import.none")}</option>
                  {all.map(({ path, title }) => <option key={path} value={path}>{title}</option>)}
                </select>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
