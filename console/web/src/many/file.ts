// The rows of a file that is imported.

import { parseJson } from "../exact";
import { isObject } from "../form/value";
import { t } from "../texts";
import { defused, parse, plain, row, separatorOf } from "./csv";

export const mostRows = 100_000;
export const mostMegabytes = 32;
const mostColumns = 1000;

/** A row, with its values by the names of their columns. */
export interface Row {
  line: number;
  values: Record<string, unknown>;
  /** The row as the file has it. */
  raw: string[];
  /** Why it cannot be read. */
  fault: string;
}

export interface Table {
  csv: boolean;
  columns: string[];
  rows: Row[];
}

/** readFile returns the rows of a file, or why there are none. */
export async function readFile(file: File, type: string): Promise<Table | string> {
  const bound = t("import.bound", { rows: mostRows.toLocaleString(), megabytes: mostMegabytes });
  if (file.size > mostMegabytes << 20) return bound;
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    return t("import.encoding");
  }
  const csv = /\.csv$/i.test(file.name) || (!/\.(nd)?jsonl?$/i.test(file.name) && !/^\s*[{#]/.test(text));
  const table = csv ? tableOf(text) : objectsOf(text, type);
  if (typeof table === "string") return table;
  return table.rows.length === 0 ? t("import.empty") : table.rows.length > mostRows ? bound : table;
}

function tableOf(text: string): Table | string {
  const [head, ...lines] = parse(text, separatorOf(text));
  const columns = head?.cells.map((name) => plain(name).trim()) ?? [];
  const twice = columns.find((name, i) => name !== "" && columns.indexOf(name) !== i);
  if (twice !== undefined) return t("import.head", { name: twice });
  const rows = lines.filter(({ cells }) => cells.some((cell) => cell !== "")).map(({ line, cells, broken }): Row => {
    const fault = broken ? t("import.quote") : cells.length !== columns.length ? t("import.cells", { values: cells.length, names: columns.length }) : "";
    const values: Record<string, unknown> = Object.create(null);
    columns.forEach((name, i) => (cells[i] ?? "") !== "" && (values[name] = cells[i]));
    return { line, values, raw: cells, fault };
  });
  return { csv: true, columns: columns.slice(0, mostColumns), rows };
}

function objectsOf(text: string, type: string): Table {
  const columns = new Set<string>();
  const rows: Row[] = [];
  text.split("\n").forEach((raw, i) => {
    if (raw.trim() === "" || raw.startsWith("#")) return;
    const row: Row = { line: i + 1, values: {}, raw: [raw], fault: "" };
    rows.push(row);
    let value: unknown;
    try {
      value = parseJson(raw);
    } catch {
      value = undefined;
    }
    // A line of marquee export names its type.
    if (isObject(value) && typeof value.type === "string" && isObject(value.object)) {
      if (value.type !== type) row.fault = t("import.other", { type: value.type });
      value = value.object;
    }
    if (!isObject(value)) row.fault = t("import.json");
    else row.values = value;
    for (const name of Object.keys(row.values)) if (columns.size < mostColumns) columns.add(name);
  });
  return { csv: false, columns: [...columns], rows };
}

/** rejectedFile returns rows with the reasons for which they were rejected, in the form of the file that they are from. */
export function rejectedFile(table: Table, rejected: { row: Row; reason: string }[]): Blob {
  if (!table.csv) return new Blob(rejected.map(({ row: { raw, line }, reason }) => `# ${t("import.line", { line })}: ${reason.replace(/\s+/g, " ")}\n${raw[0]!.replace(/\r$/, "")}\n`));
  const because = t("import.rejected");
  const columns = table.columns.filter((name) => name !== because);
  const cells = ({ raw }: Row) => columns.map((name) => defused(plain(raw[table.columns.indexOf(name)] ?? "")));
  return new Blob([row([...columns, because]), ...rejected.map((one) => row([...cells(one.row), defused(`${t("import.line", { line: one.row.line })}: ${one.reason}`)]))], { type: "text/csv" });
}

