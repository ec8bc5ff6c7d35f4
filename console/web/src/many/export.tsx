// A list as a file, read page by page.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { api, pathOf } from "../api";
import { t } from "../texts";
import { Messages } from "../values";
import { written } from "./cells";
import { row } from "./csv";
import { Save, Title } from "./report";
import "./texts";

const mostRows = 200_000;
const mostMegabytes = 100;

interface Props {
  network: string;
  type: string;
  title: string;
  /** The path of the list. */
  path: string;
  query: Record<string, string>;
  columns: string[];
  onClose: () => void;
}

export function Export(props: Props) {
  const { network, type } = props;
  const format = useSignal<"csv" | "ndjson">("csv");
  const progress = useSignal<{ done: number; total: number } | null>(null);
  const made = useSignal<{ blob: Blob; name: string; count: number; cut: boolean } | null>(null);
  const fault = useSignal<{ status: number; messages?: [] } | null>(null);
  const ended = useSignal(false);
  const stopped = useRef(false);
  useEffect(() => () => void (stopped.current = true), []);
  const start = async () => {
    stopped.current = false;
    made.value = fault.value = null;
    ended.value = false;
    progress.value = { done: 0, total: 0 };
    const csv = format.value === "csv";
    const columns = [...new Set(["id", ...props.columns])];
    const parts: Blob[] = csv ? [new Blob([row(columns)])] : [];
    let bytes = 0, count = 0, total = 0, cut = false;
    for (let cursor = ""; !cut; ) {
      const answer = await api.get(pathOf(props.path, network, undefined, { ...props.query, fields: columns.join(","), pageSize: "1000", ...(cursor && { cursor, count: "false" }) }));
      if (stopped.current) break;
      if (answer.status !== 200) {
        fault.value = { status: answer.status, messages: answer.body?.messages };
        break;
      }
      const rows: any[] = answer.body.results;
      const page = new Blob(rows.map((one) => (csv ? row(columns.map((name) => written(one[name]))) : JSON.stringify(one) + "\n")));
      cursor = answer.body.nextCursor ?? "";
      cut = bytes + page.size > mostMegabytes << 20;
      if (!cut) {
        parts.push(page);
        bytes += page.size;
        count += rows.length;
        cut = cursor !== "" && count >= mostRows;
      }
      total ||= answer.body.totalCount ?? 0;
      progress.value = { done: count, total };
      if (!cursor) break;
    }
    progress.value = null;
    if (stopped.current) ended.value = true;
    else if (!fault.value) made.value = { blob: new Blob(parts, { type: csv ? "text/csv" : "application/x-ndjson" }), name: `${type}.${format.value}`, count, cut };
  };
  const bounds = { rows: mostRows.toLocaleString(), megabytes: mostMegabytes };
  return (
    <section class="many" aria-labelledby="export">
      <Title id="export">{t("export.title", { type: props.title })}</Title>
      <p class="hint">{t("export.hint")}</p>
      <label>
        <span>{t("export.format")}</span>
        <select value={format.value} disabled={progress.value !== null} onChange={(event) => { format.value = event.currentTarget.value as "csv"; made.value = null; }}>
          <option value="csv">{t("export.csv")}</option>
          <option value="ndjson">{t("export.ndjson")}</option>
        </select>
      </label>
      {progress.value && (
        <div class="progress">
          <progress max={progress.value.total || 1} value={progress.value.done} aria-label={t("many.progress")} />
          <span>{t("export.counts", { done: progress.value.done.toLocaleString(), total: progress.value.total.toLocaleString() })}</span>
          <button type="button" onClick={() => { stopped.current = true; }}>{t("many.stop")}</button>
        </div>
      )}
      <p role="status">{ended.value ? t("export.stopped") : made.value && t(made.value.cut ? "export.bound" : "export.done", { count: made.value.count, ...bounds })}</p>
      {fault.value && <Messages {...fault.value} />}
      <p class="actions">
        {made.value ? <Save {...made.value} /> : !progress.value && <button type="button" class="primary" onClick={start}>{t("export.start")}</button>}
        <button type="button" onClick={props.onClose}>{t("many.close")}</button>
      </p>
    </section>
  );
}
