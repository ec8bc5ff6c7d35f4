// A form: what was read, what is typed, and what the service says about it. Fields read
// only their own part, so that a key press renders one field.

import { computed, signal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import { createContext } from "preact";
import { useContext, useMemo } from "preact/hooks";
import { t, visible as shownText } from "../texts";
import type { Message } from "../texts";
import { Change, Names, changeOf, none, visible } from "./change";
import { matches } from "./match";
import { Choices, Schema, Shape, itemSchema, label, memberSchema, shapeOf } from "./schema";
import { Json, JsonObject, Path, get, own, pointer, set, steps } from "./value";

export type Notes = ReadonlyMap<string, Message[]>;

/** Beside is an object that is opened or created beside the form, for a reference. */
export interface Beside {
  type: string;
  network: string;
  ids?: string[];
  /** Whether it has changes that have not been saved. */
  dirty?: boolean;
  saved(id: string, name: string): void;
}

/** pageSize is how many items of an array are shown at once. */
export const pageSize = 20;

let forms = 0;

export class Form {
  readonly prefix = `f${++forms}`;
  readonly schema: Signal<Schema>;
  readonly base: Signal<JsonObject>;
  readonly value: Signal<JsonObject>;
  readonly choices = signal<Choices>(none);
  /** The choices that the base was stored with. */
  private chosen: Choices = this.choices.peek();
  readonly faults = signal<Notes>(new Map());
  readonly warnings = signal<Notes>(new Map());
  /** What is open, by pointer: groups, pages of arrays, and parts that are edited as JSON. */
  readonly open = signal<ReadonlyMap<string, boolean>>(new Map());
  readonly pages = signal<ReadonlyMap<string, number>>(new Map());
  readonly raw = signal<ReadonlySet<string>>(new Set());
  readonly beside = signal<Beside | null>(null);
  /** Whether the page of the form shows objects beside it. */
  besides = true;
  /** Changes when a reference has got another name. */
  readonly renamed = signal(0);

  constructor(readonly type: string, readonly network: string, schema: Schema, base: JsonObject, value: JsonObject, public isNew: boolean, readonly names: Names) {
    this.schema = signal(schema);
    this.base = signal(base);
    this.value = signal(value);
  }

  readonly frozen = computed(() => {
    const rule = this.schema.value["x-frozen"];
    return !this.isNew && rule && matches(this.schema.value, rule.when, this.base.value) ? rule : undefined;
  });

  /** What would be sent, undefined for nothing. */
  readonly change = computed<Change | undefined>(() => {
    if (this.value.value === this.base.value) return undefined;
    return changeOf(this.before(), this.shown(this.value.value), this.base.value);
  });

  /** Returns what was read without what the conditions of its schema hide. */
  before(): JsonObject {
    return this.shown(this.base.value, this.chosen);
  }

  /** Returns a value of the type without what the conditions of its schema hide. */
  shown(value: JsonObject, choices: Choices = this.choices.value): JsonObject {
    return visible(this.schema.value, this.schema.value, value, choices) as JsonObject;
  }

  set(path: Path, to: Json | undefined): void {
    this.keep(path);
    this.value.value = set(this.value.peek(), path, to) as JsonObject;
    this.corrected(path);
  }

  private corrected(path: Path): void {
    const at = pointer(path);
    if (this.faults.peek().has(at)) this.faults.value = without(this.faults.peek(), (key) => key === at);
  }

  /** Keeps the alternatives around a place: what is typed there may fit none of them for a while. */
  private keep(path: Path): void {
    for (let i = 0; i < path.length; i++) {
      const at = path.slice(0, i);
      const { alternatives } = this.place(at).shape;
      if (alternatives && alternatives.chosen >= 0 && !this.choices.peek().has(pointer(at))) this.choose(at, alternatives.chosen);
    }
  }

  /** Makes an object the base, which was stored with alternatives that are chosen, and another one the value. */
  rebase(base: JsonObject, value: JsonObject, chosen: Choices): void {
    this.chosen = chosen;
    this.base.value = base;
    this.value.value = value;
    this.faults.value = new Map();
  }

  /** Discards what has been typed. */
  reset(value: JsonObject): void {
    this.choices.value = this.chosen;
    this.value.value = value;
    this.faults.value = new Map();
  }

  /** Forgets what belongs to the places of items that have moved. */
  moved(path: Path): void {
    const below = pointer(path) + "/";
    const others = <T>(map: ReadonlyMap<string, T>) => without(map, (key) => key.startsWith(below));
    this.faults.value = others(this.faults.peek());
    this.choices.value = others(this.choices.peek());
    this.open.value = others(this.open.peek());
    this.raw.value = new Set([...this.raw.peek()].filter((key) => !key.startsWith(below)));
  }

  choose(path: Path, index: number): void {
    this.choices.value = new Map(this.choices.peek()).set(pointer(path), index);
    this.corrected(path);
  }

  toggle(path: Path, open: boolean): void {
    this.open.value = new Map(this.open.peek()).set(pointer(path), open);
  }

  toPage(path: Path, page: number): void {
    this.pages.value = new Map(this.pages.peek()).set(pointer(path), page);
  }

  asJson(path: Path, raw: boolean): void {
    const now = new Set(this.raw.peek());
    if (raw) now.add(pointer(path));
    else now.delete(pointer(path));
    this.raw.value = now;
    this.choices.value = without(this.choices.peek(), (key) => `${key}/`.startsWith(pointer(path) + "/"));
  }

  /** Opens everything around a field, and puts the focus there before the next key is pressed. */
  reveal(at: string): void {
    const path: (string | number)[] = [];
    const open = new Map(this.open.peek());
    const pages = new Map(this.pages.peek());
    for (const step of steps(at)) {
      const array = Array.isArray(get(this.value.peek(), path));
      open.set(pointer(path), true);
      if (array) pages.set(pointer(path), Math.floor(Number(step) / pageSize));
      path.push(array ? Number(step) : step);
    }
    open.set(pointer(path), true);
    this.open.value = open;
    this.pages.value = pages;
    queueMicrotask(() => { // after what Preact renders in one, too
      for (let i = path.length; i >= 0; i--) {
        const id = this.id(path.slice(0, i)), element = document.getElementById(id) ?? document.getElementById(id + "-kind");
        if (!element) continue;
        element.scrollIntoView({ block: "center" });
        const control = element.matches("input, select, textarea, button") ? element : element.querySelector<HTMLElement>("input, select, textarea") ?? element.querySelector<HTMLElement>("button");
        return control?.focus();
      }
    });
  }

  /** Moves the focus to an element when what it was on has been removed. */
  refocus(id: string): void {
    queueMicrotask(() => document.getElementById(id)?.focus());
  }

  id(path: Path): string {
    return this.prefix + pointer(path);
  }

  /** Returns the labels on the way to a place, and the shape of what is there. */
  place(path: Path): { labels: string[]; shape: Shape } {
    const root = this.schema.peek();
    let schema: unknown = root;
    const labels: string[] = [];
    path.forEach((step, i) => {
      const inner = get(this.value.peek(), path.slice(0, i));
      const shape = shapeOf(root, schema, inner, path.slice(0, i), this.choices.peek());
      const item = typeof step === "number" || Array.isArray(inner);
      schema = item ? itemSchema(shape, Number(step)) : memberSchema(shape, step as string);
      if (item) labels.push(`${labels.pop() ?? ""} ${Number(step) + 1}`);
      else labels.push(own(shape.schema.properties, step) === undefined ? shownText(String(step)) : label(step as string, schema));
    });
    return { labels, shape: shapeOf(root, schema, get(this.value.peek(), path), path, this.choices.peek()) };
  }

  /** Says why a value cannot be written, undefined if it can. */
  reason(path: Path, shape: Shape): string | undefined {
    const s = shape.schema;
    const name = path[0] as string;
    if (s.readOnly || s["x-sequence"] || s["x-derived"]) return t(s["x-sequence"] ? "form.reason.sequence" : s["x-derived"] ? "form.reason.derived" : "form.reason.service");
    if (path.length > 1 || this.isNew) return undefined;
    const rule = this.frozen.value;
    if (rule && !(rule.except ?? []).includes(name)) return shownText(rule.text.replace(/\{\{field\}\}/g, label(name, s)));
    const before = own(this.base.value, name);
    if (s["x-immutable"] && before !== undefined && before !== null) return t("form.reason.immutable");
    return undefined;
  }
}

function without<T>(map: ReadonlyMap<string, T>, drop: (key: string) => boolean): ReadonlyMap<string, T> {
  return new Map([...map].filter(([key]) => !drop(key)));
}

/** notes sorts messages by the places that they name. */
export function notes(messages: Message[]): Notes {
  const out = new Map<string, Message[]>();
  for (const message of messages) {
    const at = typeof message.params?.field === "string" ? message.params.field : "";
    out.set(at, [...(out.get(at) ?? []), message]);
  }
  return out;
}

export const FormContext = createContext<Form>(undefined as unknown as Form);
export const useForm = () => useContext(FormContext);

/** useDerived subscribes a component to something of the form; it renders again when that differs. */
export function useDerived<T>(read: () => T, inputs: unknown[]): T {
  return useMemo(() => computed(read), inputs).value;
}

export function useValue(path: Path): Json | undefined {
  const form = useForm();
  return useDerived(() => get(form.value.value, path), [form, pointer(path)]);
}

export function useShape(schema: unknown, path: Path): Shape {
  const form = useForm();
  return useDerived(() => shapeOf(form.schema.value, schema, get(form.value.value, path), path, form.choices.value), [form, schema, pointer(path)]);
}
