// What a value lacks to be of the kind that is chosen for it. The service does not know the
// choice, and says that the value is of no kind.

import type { Message } from "../texts";
import type { Form } from "./model";
import { Shape, isSecret } from "./schema";
import { Json, Path, get, isObject, own, pointer, steps } from "./value";

export const noKind = "form.fault.kind";

/** required returns the members that an object must have. */
export function required(shape: Shape, value: Json | undefined): string[] {
  const out: string[] = [...(shape.schema.required ?? [])];
  for (const [name, others] of Object.entries(shape.schema.dependentRequired ?? {})) {
    if (isObject(value) && own(value, name) !== undefined) out.push(...(others as string[]));
  }
  return out;
}

/** clearer replaces messages that a value is of no kind, or of several, by what it lacks, if that or what else is wrong with it is known. */
export function clearer(form: Form, messages: Message[]): Message[] {
  const shown = form.shown(form.value.peek());
  const all = messages.flatMap((message) => {
    const at = String(message.params?.field ?? "");
    if (message.code !== "error.value.not.allowed" && message.code !== "error.value.ambiguous") return [message];
    const found = lacking(form, steps(at), get(shown, steps(at)));
    return found.length > 0 || messages.some(({ params }) => String(params?.field ?? "").startsWith(at + "/")) ? found : [message];
  });
  return [...new Map(all.map((message) => [JSON.stringify([message.code, message.text, message.params?.field]), message])).values()];
}

function lacking(form: Form, path: Path, value: Json | undefined): Message[] {
  const { shape } = form.place(path);
  const kindless = value !== null && shape.alternatives && shape.alternatives.chosen < 0;
  if (value === undefined && (form.reason(path, shape) || (!form.isNew && isSecret(shape.schema)))) return [];
  if (value === undefined || kindless) return [{ code: kindless ? noKind : "form.fault.required", text: "", params: { field: pointer(path) } }];
  if (Array.isArray(value)) return value.flatMap((item, i) => lacking(form, [...path, i], item));
  if (!isObject(value)) return [];
  return [...new Set([...required(shape, value), ...Object.keys(value)])].flatMap((name) => lacking(form, [...path, name], own(value, name)));
}
