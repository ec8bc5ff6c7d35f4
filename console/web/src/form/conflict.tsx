// The view of two changes of one object: yours, theirs and what was there before, field
// by field.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../texts";
import { Difference, Merge } from "./change";
import { Value } from "./controls";
import { useForm } from "./model";
import { isSecret } from "./schema";
import { JsonObject, equal, pointer } from "./value";
import { chosen } from "./saving";

export function ConflictView(props: { merge: Merge; user: string; resolve(result: JsonObject): void; back(): void }) {
  const { merge, user } = props;
  const form = useForm();
  const theirs = useSignal<ReadonlySet<number>>(new Set());
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  const choose = (index: number, other: boolean) => {
    const now = new Set(theirs.value);
    if (other) now.add(index);
    else now.delete(index);
    theirs.value = now;
  };
  return (
    <section class="conflict" aria-labelledby="conflict-heading">
      <h2 id="conflict-heading" tabIndex={-1} ref={heading}>{t("form.conflict.heading", { user })}</h2>
      {merge.conflicts.length > 0 && (
        <>
          <p>{t("form.conflict.hint")}</p>
          <Table rows={merge.conflicts} cell={(difference, i) => {
            const name = `conflict-${i}`;
            return [false, true].map((other) => (
              <td data-title={t(other ? "form.conflict.theirs" : "form.conflict.yours")}>
                <label><input type="radio" name={name} checked={theirs.value.has(i) === other} onChange={() => choose(i, other)} aria-label={`${t(other ? "form.conflict.theirs" : "form.conflict.yours")}: ${form.place(difference.path).labels.join(", ")}`} /> <Side difference={difference} of={other ? "theirs" : "yours"} /></label>
              </td>
            ));
          }} />
        </>
      )}
      {merge.yours.length + merge.theirs.length > 0 && (
        <>
          <h3>{t("form.conflict.merged")}</h3>
          <p>{t("form.conflict.merged.hint")}</p>
          <Table rows={[...merge.theirs, ...merge.yours]} cell={(difference) => (["yours", "theirs"] as const).map((of) => <td data-title={t("form.conflict." + of)}><Side difference={difference} of={of} /></td>)} />
        </>
      )}
      <div class="tools">
        <button type="button" class="primary" onClick={() => props.resolve(chosen(merge, theirs.value))}>{t("form.conflict.save")}</button>
        <button type="button" onClick={props.back}>{t("form.back")}</button>
      </div>
    </section>
  );
}

function Table({ rows, cell }: { rows: Difference[]; cell(difference: Difference, index: number): ComponentChildren }) {
  const form = useForm();
  return (
    <table>
      <thead><tr>{["field", "ancestor", "yours", "theirs"].map((column) => <th scope="col">{t("form.conflict." + column)}</th>)}</tr></thead>
      <tbody>
        {rows.map((difference, i) => (
          <tr key={pointer(difference.path)}>
            <th scope="row" dir="auto">{form.place(difference.path).labels.join(" › ")}</th>
            <td data-title={t("form.conflict.ancestor")}><Side difference={difference} of="ancestor" /></td>
            {cell(difference, i)}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Side({ difference, of }: { difference: Difference; of: "ancestor" | "yours" | "theirs" }) {
  const form = useForm();
  const value = difference[of];
  const { shape } = form.place(difference.path);
  const changed = of !== "ancestor" && value !== undefined && !equal(value, difference.ancestor);
  if (isSecret(shape.schema) && changed) return <>{t("form.secret.changed")}</>;
  return shape.schema.writeOnly ? <>{t("form.secret.kept")}</> : <Value shape={shape} value={value} />;
}
