// What is selected in a list: objects by hand, or all that match its conditions.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { t } from "./texts";

export interface Selection {
  /** The list that is selected from. */
  list: string;
  /** The names of the selected objects, by id. */
  names: ReadonlyMap<string, string>;
  /** The parameters of a list that is selected as a whole, and how many objects the service counts in it. */
  all: { query: Record<string, string>; total: number } | null;
  /** Why objects have not been written, by id. */
  reasons: ReadonlyMap<string, string>;
}

const none = (list: string): Selection => ({ list, names: new Map(), all: null, reasons: new Map() });

const selection = signal<Selection>(none(""));

/** What is selected in a list. */
export const selected = (list: string): Selection => (selection.value.list === list ? selection.value : none(list));

export const size = ({ all, names }: Selection) => all?.total ?? names.size;

export function select(next: Selection): void {
  selection.value = next;
}

interface Row {
  id: string;
  name: string;
}

/** Selects rows, or selects them no longer. Of a list that is selected as a whole, nothing else is left. */
export function toggle(list: string, rows: Row[], on: boolean): void {
  const now = selected(list);
  const names = new Map(now.all ? [] : now.names);
  for (const { id, name } of rows) {
    if (on) names.set(id, name);
    else names.delete(id);
  }
  selection.value = { ...now, names, all: null };
}

/** The box that selects rows. */
export function Pick(props: { list: string; rows: Row[]; label: string }) {
  const now = selected(props.list);
  const count = props.rows.filter(({ id }) => now.names.has(id)).length;
  const on = now.all !== null || (count > 0 && count === props.rows.length);
  return <input type="checkbox" aria-label={props.label} checked={on} indeterminate={!on && count > 0} onChange={(event) => toggle(props.list, props.rows, event.currentTarget.checked)} />;
}

/** Says how many objects are selected, and offers what can be done with them. */
export function SelectionBar(props: { list: string; query: Record<string, string>; total: number; onChange: () => void }) {
  const now = selected(props.list);
  const count = size(now);
  // What matches other conditions than those of the list cannot be seen there.
  const other = now.all !== null && JSON.stringify(now.all.query) !== JSON.stringify(props.query);
  useEffect(() => {
    if (other) select(none(props.list));
  }, [other]);
  return (
    <p class={count > 0 ? "selection" : "selection nothing"}>
      <span role="status">{count > 0 && t(now.all ? "selection.all" : "selection.some", { count })}</span>
      {count > 0 && (
        <>
          {!now.all && count < props.total && (
            <button type="button" onClick={() => select({ ...none(props.list), all: { query: props.query, total: props.total } })}>
              {t("selection.every", { count: props.total })}
            </button>
          )}
          <button type="button" class="primary" onClick={props.onChange}>
            {t("selection.change")}
          </button>
          <button type="button" onClick={() => select(none(props.list))}>
            {t("selection.clear")}
          </button>
        </>
      )}
    </p>
  );
}
