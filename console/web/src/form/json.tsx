// A part of an object as JSON, for what cannot be drawn.

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { parseJson } from "../exact";
import { t } from "../texts";
import type { ControlProps } from "./field";
import { emptied } from "./controls";
import { useForm, useValue } from "./model";
import { Draft, Json, equal, pointer } from "./value";

function parse(text: string): Json | Draft {
  try {
    return parseJson(text) as Json;
  } catch (error) {
    return new Draft(text, where(text, String((error as Error).message)));
  }
}

/** where names the line of a fault, if the browser names its position. */
function where(text: string, message: string): string {
  const found = /position (\d+)/.exec(message);
  const at = found ? Number(found[1]) : text.length;
  const before = text.slice(0, at).split("\n");
  return t("form.fault.json", { line: before.length, column: before[before.length - 1]!.length + 1 });
}

export function JsonText(props: ControlProps) {
  const { path, attributes, reason } = props;
  const form = useForm();
  const value = useValue(path);
  const typed = useSignal<string | null>(null);
  const gutter = useRef<HTMLPreElement>(null);
  const read = (text: string) => (text.trim() === "" ? emptied(props) : parse(text));
  const written = value instanceof Draft ? value.text : value === undefined ? "" : JSON.stringify(value, null, 2);
  const stands = typed.value !== null && !(value instanceof Draft) && equal(read(typed.value), value);
  const text = stands ? typed.value! : written;
  const lines = text.split("\n").length;
  const drawn = form.raw.value.has(pointer(path));
  return (
    <>
    <div class="json">
      <pre ref={gutter} aria-hidden="true">{Array.from({ length: lines }, (_, i) => i + 1).join("\n")}</pre>
      <textarea {...attributes} readOnly={reason !== undefined} spellcheck={false} wrap="off" value={text} rows={Math.min(24, lines + 1)}
        onScroll={(event) => gutter.current && (gutter.current.scrollTop = event.currentTarget.scrollTop)}
        onInput={(event) => {
          typed.value = event.currentTarget.value;
          form.set(path, read(event.currentTarget.value));
        }} />
    </div>
    {drawn && <button type="button" disabled={value instanceof Draft} onClick={() => form.asJson(path, false)}>{t("form.as.fields", { label: props.label })}</button>}
    </>
  );
}
