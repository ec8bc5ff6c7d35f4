import { useRef } from "preact/hooks";
import { change } from "./list";
import { address } from "./router";
import type { Property } from "./schema";
import { t } from "./texts";

/** Adds, removes and orders the columns of a list. */
export function Columns(props: { properties: Map<string, Property>; columns: string[]; chosen: boolean }) {
  const columns = props.columns.filter((name) => props.properties.has(name));
  const adds = useRef<HTMLSelectElement>(null);
  const set = (next: string[]) => change({ columns: next.join(","), cursor: address.value.searchParams.get("cursor") });
  const move = (button: HTMLElement, at: number, by: number) => {
    const next = [...columns];
    next.splice(at + by, 0, ...next.splice(at, 1));
    set(next);
    // A button that moves a column no further loses the focus.
    if (at + by === 0) (button.nextElementSibling as HTMLElement).focus();
    if (at + by === columns.length - 1) (button.previousElementSibling as HTMLElement).focus();
  };
  const remove = (name: string) => {
    set(columns.filter((one) => one !== name));
    adds.current!.focus();
  };
  const title = (name: string) => props.properties.get(name)!.title;
  return (
    <details class="panel">
      <summary>{t("columns.title")}</summary>
      <ol class="columns">
        {columns.map((name, at) => (
          <li key={name}>
            <bdi>{title(name)}</bdi>
            <button type="button" disabled={at === 0} onClick={(event) => move(event.currentTarget, at, -1)} aria-label={t("columns.earlier", { column: title(name) })}>
              ↑
            </button>
            <button type="button" disabled={at === columns.length - 1} onClick={(event) => move(event.currentTarget, at, 1)} aria-label={t("columns.later", { column: title(name) })}>
              ↓
            </button>
            <button type="button" disabled={columns.length === 1} onClick={() => remove(name)} aria-label={t("columns.remove", { column: title(name) })}>
              ✕
            </button>
          </li>
        ))}
      </ol>
      <label>
        <span>{t("columns.add")}</span>
        <select ref={adds} value="" onChange={(event) => event.currentTarget.value && set([...columns, event.currentTarget.value])}>
          <option value="" />
          {[...props.properties.keys()]
            .filter((name) => !columns.includes(name))
            .map((name) => (
              <option key={name} value={name}>
                {title(name)}
              </option>
            ))}
        </select>
      </label>
      {props.chosen && (
        <button type="button" class="link" onClick={() => change({ columns: null })}>
          {t("columns.usual")}
        </button>
      )}
    </details>
  );
}
