// Lists of objects. Everything that a list shows follows from its address.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { pathOf } from "./api";
import { Heading, titleOf } from "./app";
import { Columns } from "./columns";
import { Filters } from "./filters";
import { useAnswer, useChanges, useSchema } from "./hooks";
import { lazy } from "./lazy";
import { Picker } from "./picker";
import { address, navigate, to } from "./router";
import { defaultColumns, filterable, followable, formed, labelOf, propertiesOf, sortable, types, warningsName, type Property, type Schema } from "./schema";
import { Pick, selected, SelectionBar } from "./selection";
import { brief, t } from "./texts";
import { Messages, Text, Value } from "./values";
import { Views } from "./views";

export const pageSize = 50;

const ChangeMany = lazy(() => import("./many/index").then((m) => m.ChangeMany));
const Import = lazy(() => import("./many/index").then((m) => m.Import));
const Export = lazy(() => import("./many/index").then((m) => m.Export));

/** The parameters of an address that the service knows. */
const passed = ["q", "where", "orderBy", "orderByDirection", "includeActive", "includeInactive", "includeHidden", "excludeInvalid", "onlyMine", "cursor"];

/** Changes parameters of the address. Without the cursor, the list begins anew. */
export function change(parameters: Record<string, string | null>): void {
  const next = new URL(address.value);
  if (!("cursor" in parameters)) {
    next.searchParams.delete("cursor");
    next.searchParams.delete("from");
  }
  for (const [name, value] of Object.entries(parameters)) {
    if (value === null || value === "") next.searchParams.delete(name);
    else next.searchParams.set(name, value);
  }
  if (next.href !== address.value.href) navigate(next.href);
}

/** The name of the object that has just been removed, which the next list says. */
export const removed = { name: "" };

export function ListPage(props: { network: string; type: string }) {
  const { network, type } = props;
  const query = address.value.searchParams;
  const schema = useSchema(network, type);
  const [gone] = useState(removed.name);
  useEffect(() => void (removed.name = ""), []);
  const [again, setAgain] = useState(0);
  const [task, setTask] = useState<"change" | "import" | "export" | null>(null);
  const info = types.value.find((one) => one.type === type);
  const parent = info?.parent ?? (schema?.body?.["x-resource"]?.parent as string | undefined);
  const below = query.get("parent") ?? "";
  const columns = query.get("columns")?.split(",").filter(Boolean) ?? null;
  // The list is read beside the schema, not after it, so that it needs no more than one round trip.
  const parameters: Record<string, string> = { pageSize: String(pageSize) };
  for (const name of passed) {
    const value = query.get(name);
    if (value !== null) parameters[name] = value;
  }
  const { cursor: _, pageSize: __, ...conditions } = parameters;
  const [position] = useState(() => followable(type)); // for as long as the page is shown, so that nothing is asked twice
  if (columns) parameters.fields = ["id", ...columns].join(",");
  const path = below ? `${type}/${encodeURIComponent(below)}` : type;
  const list = JSON.stringify([network, path]);
  const methods: string[] = info?.writable && schema?.status === 200 ? (schema.body["x-resource"]?.methods ?? ["GET", "POST", "PUT"]) : [];
  // The address of a list below a parent has the parameter also while none is chosen, so that nothing is asked before the type is known.
  const nameless = parent !== undefined && !query.has("parent");
  useEffect(() => {
    if (nameless) navigate("?" + new URLSearchParams([...query, ["parent", ""]]), { replace: true });
  }, [nameless]);
  const waits = below === "" && (parent !== undefined || query.has("parent"));
  const answer = useAnswer(waits ? null : pathOf(path, network, undefined, { ...parameters, ...position }), again);
  const [stale, fresh] = useChanges(network, type, info && info.scope !== "global" && answer?.status === 200 ? answer : null);
  const reload = () => {
    fresh();
    setAgain((before) => before + 1);
  };
  const title = info?.title ?? schema?.body?.title ?? type;
  return (
    <>
      <div class="head">
        <Heading text={title} />
        <span class="actions">
          {(methods.includes("POST") || methods.includes("PUT")) && (
            <button type="button" data-task onClick={() => setTask("import")}>
              {t("list.import")}
            </button>
          )}
          {answer?.status === 200 && (
            <button type="button" data-task onClick={() => setTask("export")}>
              {t("list.export")}
            </button>
          )}
          {info?.writable && (!parent || (schema?.status === 200 && formed(schema.body))) && (
            <a class="button primary" data-new href={to.create(network, type, below)}>
              {t("list.new")}
            </a>
          )}
          {info && info.scope !== "global" && (
            <a class="button" href={to.history(network, type)}>
              {t("history.title")}
            </a>
          )}
          <a class="button" href={to.type(network, type)}>
            {t("type.about")}
          </a>
        </span>
      </div>
      {gone && <p role="status">{t("list.removed", { name: brief(gone) })}</p>}
      {parent && schema?.status === 200 && <Parent network={network} schema={schema.body} parent={parent} id={below} />}
      {schema?.status === 200 && <Tools network={network} type={type} schema={schema.body} columns={columns} />}
      {task === "import" && schema?.status === 200 && <Import network={network} type={type} title={title} schema={schema.body} changes={methods.includes("PUT")} onClose={() => setTask(null)} onDone={reload} />}
      {task === "export" && schema?.status === 200 && (
        <Export key={list + JSON.stringify(conditions)} network={network} type={type} title={title} path={path} query={conditions} columns={columns ?? defaultColumns(schema.body)} onClose={() => setTask(null)} />
      )}
      {task === "change" && schema?.status === 200 && <ChangeMany key={list} network={network} type={type} parent={below} schema={schema.body} list={list} onClose={() => setTask(null)} onDone={reload} />}
      {schema && schema.status !== 200 ? (
        <Messages status={schema.status} messages={schema.body?.messages} />
      ) : answer === null || schema === null ? (
        !waits && <p class="busy">{t("status.loading")}</p>
      ) : answer.status !== 200 ? (
        <Messages status={answer.status} messages={answer.body?.messages} />
      ) : (
        <Table
          network={network}
          type={type}
          schema={schema.body}
          columns={columns ?? defaultColumns(schema.body)}
          page={answer.body}
          stale={stale}
          reload={reload}
          selects={methods.includes("PUT") ? list : null}
          bar={methods.includes("PUT") && task !== "change" && <SelectionBar list={list} query={conditions} total={answer.body.totalCount ?? 0} onChange={() => setTask("change")} />}
        />
      )}
    </>
  );
}

/** The choice of the object whose objects are listed. */
function Parent(props: { network: string; schema: Schema; parent: string; id: string }) {
  const property = propertiesOf(props.schema).get(props.parent);
  if (!property?.target) return null;
  return (
    <div class="parent">
      <Picker label={property.title} network={props.network} type={property.target} value={props.id} onPick={(id) => change({ parent: id })} />
      {props.id && <a href={to.object(props.network, property.target, props.id)}>{t("list.parent", { type: titleOf(property.target) })}</a>}
    </div>
  );
}

function Tools(props: { network: string; type: string; schema: Schema; columns: string[] | null }) {
  const { network, type, schema } = props;
  const query = address.value.searchParams;
  const properties = useMemo(() => propertiesOf(schema), [schema]);
  const searched: string[] = schema["x-resource"]?.search ?? [];
  const filters = ["q", "where", "excludeInvalid", "onlyMine", "includeHidden", "includeInactive", "includeActive"].filter((name) => query.has(name)).length;
  return (
    <div class="tools">
      {searched.length > 0 && (
        <form
          role="search"
          onSubmit={(event) => {
            event.preventDefault();
            change({ q: (event.currentTarget.elements.namedItem("q") as HTMLInputElement).value });
          }}
        >
          <label>
            <span>{t("list.search")}</span>
            <input key={query.get("q") ?? ""} type="search" name="q" defaultValue={query.get("q") ?? ""} title={t("list.searched", { properties: searched.join(", ") })} />
          </label>
          <button>{t("list.find")}</button>
        </form>
      )}
      <Filters network={network} properties={properties} names={filterable(schema)} />
      <Columns properties={properties} columns={props.columns ?? defaultColumns(schema)} chosen={props.columns !== null} />
      <Views network={network} type={type} />
      {filters > 0 && (
        <button type="button" class="link" onClick={() => change({ q: null, where: null, excludeInvalid: null, onlyMine: null, includeHidden: null, includeInactive: null, includeActive: null })}>
          {t("list.clear")}
        </button>
      )}
    </div>
  );
}

function Table(props: { network: string; type: string; schema: Schema; columns: string[]; page: any; stale: boolean; reload: () => void; selects: string | null; bar: ComponentChildren }) {
  const { network, type, schema, page, selects } = props;
  const query = address.value.searchParams;
  const properties = useMemo(() => propertiesOf(schema), [schema]);
  const columns = props.columns.map((name) => properties.get(name)).filter((found): found is Property => found !== undefined);
  const label = labelOf(schema);
  const ordered = new Set(sortable(schema));
  const from = Number(query.get("from")) || 0;
  const rows: any[] = page.results;
  const head = columns.some(({ name }) => name === label) ? label : columns[0]?.name;
  const named = (row: any) => ({ id: row.id as string, name: String(row[head ?? "id"] ?? row.id) });
  const reasons = selects === null ? null : selected(selects).reasons;
  const table = useRef<HTMLTableElement>(null);
  // Whoever comes back from an object goes on at its row.
  useLayoutEffect(() => {
    if (document.activeElement?.matches("h1")) [...(table.current?.querySelectorAll<HTMLAnchorElement>("th > a") ?? [])].find((link) => link.pathname === history.state?.left)?.focus();
  }, []);
  const next = () => {
    const url = new URL(address.value);
    url.searchParams.set("cursor", page.nextCursor);
    url.searchParams.set("from", String(from + rows.length));
    before.set(url.href, address.value.href);
    return url.href;
  };
  const previous = before.get(address.value.href);
  const first = () => {
    const url = new URL(address.value);
    url.searchParams.delete("cursor");
    url.searchParams.delete("from");
    return url.href;
  };
  return (
    <>
      <p class="count" role="status">
        {rows.length === 0 ? t("list.none") : t("list.count", { from: (from + 1).toLocaleString(), to: (from + rows.length).toLocaleString(), total: (page.totalCount ?? 0).toLocaleString() })}{" "}
        {props.stale && <strong class="warned">{t("list.stale")} </strong>}
        <button type="button" class="link" onClick={props.reload}>
          {t("list.reload")}
        </button>
      </p>
      {page.truncated && <p class="notice">{t("list.truncated")}</p>}
      {props.bar}
      {rows.length > 0 && (
        <div class="scroll" role="region" aria-label={t("list.table")} tabIndex={0}>
          <table ref={table}>
            <thead>
              <tr>
                {selects !== null && (
                  <td>
                    <Pick list={selects} rows={rows.map(named)} label={t("selection.page")} />
                  </td>
                )}
                {columns.map((column) => (
                  <Head key={column.name} column={column} sorts={ordered.has(column.name)} />
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={row.id} class={row.objectState === "HIDDEN" ? "hidden" : ""}>
                  {selects !== null && (
                    <td>
                      <Pick list={selects} rows={[named(row)]} label={t("selection.row", { name: brief(named(row).name) })} />
                    </td>
                  )}
                  {columns.map((column) =>
                    column.name === head ? (
                      <th key={column.name} scope="row">
                        <a href={objectAddress(network, type, row, query.get("parent"))}>
                          <bdi>{brief(String(row[column.name] ?? row.id), 80)}</bdi>
                        </a>
                        {reasons?.has(row.id) && (
                          <p class="fault">
                            <Text text={reasons.get(row.id)!} max={120} />
                          </p>
                        )}
                      </th>
                    ) : (
                      <td key={column.name} class={column.kind}>
                        {column.name === warningsName ? <Warnings count={row[warningsName]?.length ?? 0} /> : <Value network={network} property={column} value={row[column.name]} />}
                      </td>
                    ),
                  )}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {(page.nextCursor || query.has("cursor")) && (
        <nav class="pages" aria-label={t("list.pages")}>
          {query.has("cursor") && (
            <a class="button" href={first()}>
              {t("list.first")}
            </a>
          )}
          {previous && (
            <a class="button" href={previous}>
              {t("list.previous")}
            </a>
          )}
          {page.nextCursor && (
            <a class="button" href={next()}>
              {t("list.next")}
            </a>
          )}
        </nav>
      )}
    </>
  );
}

/** The addresses of pages from which the next ones were shown: cursors lead forwards only. */
const before = new Map<string, string>();

/** The page of an object. One below a parent is named together with it. */
const objectAddress = (network: string, type: string, row: any, parent: string | null) => to.object(network, type, ...(parent ? [parent] : []), row.id);

function Warnings(props: { count: number }) {
  return props.count > 0 ? <span class="warned">{t("list.warnings", { count: props.count })}</span> : <span class="none">–</span>;
}

function Head(props: { column: Property; sorts: boolean }) {
  const { column } = props;
  const query = address.value.searchParams;
  const by = query.get("orderBy") ?? "createTime";
  const down = by === column.name && query.get("orderByDirection") === "DESCENDING";
  const order = by !== column.name ? undefined : down ? "descending" : "ascending";
  const title = <bdi>{column.title}</bdi>;
  if (!props.sorts) return <th scope="col">{title}</th>;
  return (
    <th scope="col" aria-sort={order}>
      <button type="button" class="sort" onClick={() => change({ orderBy: column.name, orderByDirection: order === "ascending" ? "DESCENDING" : "ASCENDING" })}>
        {title}
        <span aria-hidden="true">{order === undefined ? " ↕" : down ? " ↓" : " ↑"}</span>
      </button>
    </th>
  );
}
