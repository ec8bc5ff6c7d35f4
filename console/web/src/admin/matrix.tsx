// A table of check boxes, whose changes are saved row by row.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { guard } from "../router";
import { brief, t, visible } from "../texts";
import { Text } from "../values";

export interface Row {
  id: string;
  name: string;
  url: string;
  note: string;
  /** The ids of the columns whose boxes are checked. */
  on: string[];
  fixed: boolean;
}

interface Props {
  label: string;
  corner: string;
  rows: Row[];
  columns: { id: string; name: string; fixed: boolean }[];
  /** The label of a box, of the names of its row and its column. */
  cell: (row: string, column: string) => string;
  /** Saves a row, and returns why that has failed, or "". */
  save: (row: Row, on: string[]) => Promise<string>;
  onSaved: () => void;
  /** A last column, whose cells say what becomes of what is done there. */
  last?: { title: string; cell: (row: Row, report: (said: string, fault: string) => void) => ComponentChildren } | undefined;
}

/** A name that a line can be broken in behind each of its parts. */
function Broken(props: { name: string }) {
  if (props.name.length > 40) return <Text text={props.name} max={40} />;
  return (
    <bdi>
      {visible(props.name).split(/(?<=_)/).map((part) => (
        <>
          {part}
          <wbr />
        </>
      ))}
    </bdi>
  );
}

export function Matrix(props: Props) {
  const { rows, columns } = props;
  const [changed, change] = useState<ReadonlyMap<string, string[]>>(new Map());
  const [faults, setFaults] = useState<ReadonlyMap<string, string>>(new Map());
  const [status, say] = useState("");
  const busy = useRef(false);
  const pending = rows.filter((row) => changed.has(row.id));
  useLayoutEffect(() => (pending.length > 0 ? guard(() => confirm(t("matrix.leave"))) : undefined), [pending.length > 0]);

  const toggle = (row: Row, column: string, checked: boolean) => {
    const before = changed.get(row.id) ?? row.on;
    const on = checked ? [...before, column] : before.filter((one) => one !== column);
    const next = new Map(changed);
    if (on.length === row.on.length && on.every((one) => row.on.includes(one))) next.delete(row.id);
    else next.set(row.id, on);
    change(next);
    say("");
  };
  const save = async () => {
    if (busy.current) return;
    busy.current = true;
    say(t("matrix.saving"));
    const [left, failed] = [new Map(changed), new Map<string, string>()];
    for (const row of pending) {
      const fault = await props.save(row, changed.get(row.id)!);
      if (fault) failed.set(row.id, fault);
      left.delete(row.id);
    }
    busy.current = false;
    change(left);
    setFaults(failed);
    say(failed.size < pending.length ? t("matrix.saved", { count: pending.length - failed.size }) : "");
    props.onSaved();
  };
  const report = (row: Row, said: string, fault: string) => {
    say(said);
    setFaults(new Map(fault ? [[row.id, fault]] : []));
  };
  return (
    <>
      <div class="scroll" role="region" aria-label={props.label} tabIndex={0}>
        <table class="matrix">
          <thead>
            <tr>
              <th scope="col">{props.corner}</th>
              {columns.map(({ id, name }) => (
                <th scope="col" key={id}>
                  <Broken name={name} />
                </th>
              ))}
              {props.last && <th scope="col">{props.last.title}</th>}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.id}>
                <th scope="row">
                  <a href={row.url}>
                    <bdi>{brief(row.name, 60)}</bdi>
                  </a>
                  {row.note && (
                    <div class="hint">
                      <Text text={row.note} max={80} />
                    </div>
                  )}
                </th>
                {columns.map(({ id, name, fixed }) => (
                  <td key={id} class={changed.has(row.id) && changed.get(row.id)!.includes(id) !== row.on.includes(id) ? "changed" : undefined}>
                    <input
                      type="checkbox"
                      aria-label={props.cell(row.name, name)}
                      disabled={row.fixed || fixed}
                      checked={(changed.get(row.id) ?? row.on).includes(id)}
                      onChange={(event) => toggle(row, id, event.currentTarget.checked)}
                    />
                  </td>
                ))}
                {props.last && <td>{props.last.cell(row, (said, fault) => report(row, said, fault))}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {faults.size > 0 && (
        <div class="notice bad" role="alert">
          <ul>
            {rows.filter((row) => faults.has(row.id)).map((row) => (
              <li key={row.id}>
                <Text text={`${row.name}: ${faults.get(row.id)}`} />
              </li>
            ))}
          </ul>
        </div>
      )}
      {rows.some((row) => !row.fixed) && (
        <p class="actions">
          <button type="button" class="primary" aria-disabled={pending.length === 0} onClick={() => pending.length > 0 && save()}>
            {t("matrix.save", { label: props.label })}
          </button>
          {pending.length > 0 && (
            <button type="button" onClick={() => change(new Map())}>
              {t("matrix.discard")}
            </button>
          )}
          <span role="status">{status || (pending.length > 0 ? t("matrix.pending", { count: pending.length }) : "")}</span>
        </p>
      )}
    </>
  );
}
