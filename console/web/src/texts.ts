// The catalogue of texts, in English, and the service's messages by their codes.

export type Params = Record<string, unknown>;

/** A message of the service. */
export interface Message {
  type?: string;
  code: string;
  text: string;
  params?: Params;
}

const texts: Record<string, string> = {
  "app.name": "Marquee",
  "app.skip": "Skip to the content",
};

/** Adds texts to the catalogue, such as those of a form. */
export function add(more: Record<string, string>): void {
  Object.assign(texts, more);
}

/** The text with a code, with its parameters filled in. A code that is not in the catalogue is shown as it is. */
export function t(code: string, params: Params = {}): string {
  return fill(texts[code] ?? code, params);
}

/** The text of a message of the service: that of the catalogue, if it has one for the code, or the message's own. */
export function explain(message: Message): string {
  return fill(texts[message.code] ?? message.text, message.params ?? {});
}

function fill(text: string, params: Params): string {
  return text.replace(/\{\{(\w+)\}\}/g, (all, name: string) => (name in params ? shown(params[name]) : all));
}

const shown = (value: unknown) => (typeof value === "string" ? value : Array.isArray(value) && value.every((v) => typeof v !== "object") ? value.join(", ") : JSON.stringify(value));
