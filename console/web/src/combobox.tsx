// A combobox that searches while somebody types.

import { Signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { ControlProps } from "./form/field";
import { brief, t, visible } from "./texts";

/** most is the maximum number of objects that are found. */
export const most = 20;

export interface Found {
  id: string;
  name: string;
  url?: string;
  /** What tells it from others of the same name; the id, if it is missing. */
  about?: string;
}

/** Search is the state of a combobox. */
export interface Search {
  typed: Signal<string | null>;
  found: Signal<Found[] | null>;
  fault: Signal<string>;
  active: Signal<number>;
  /** Looks for a text; the first one found is active if it is asked for. */
  start(text: string, first?: boolean): void;
  close(): void;
}

/** useSearch looks for what is typed, of which the first one found is active if one must be chosen. */
export function useSearch(find: (text: string) => Promise<{ found: Found[]; fault?: string }>, mustChoose: boolean): Search {
  const [typed, found, fault, active] = [useSignal<string | null>(null), useSignal<Found[] | null>(null), useSignal(""), useSignal(-1)];
  const turn = useRef(0);
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  return {
    typed, found, fault, active,
    start(text, first) {
      clearTimeout(timer.current);
      const mine = ++turn.current;
      timer.current = window.setTimeout(async () => {
        const answer = await find(text);
        if (mine !== turn.current) return;
        const exact = ({ id, name }: Found) => Number([id, name].some((one) => one.toLowerCase() === text.toLowerCase()));
        found.value = answer.found.sort((a, b) => exact(b) - exact(a));
        fault.value = answer.fault ?? "";
        active.value = answer.found.length > 0 && (first || (text && mustChoose)) ? 0 : -1;
      }, 150);
    },
    close() {
      clearTimeout(timer.current);
      turn.current++;
      typed.value = found.value = null;
      fault.value = "";
    },
  };
}

interface Props {
  attributes: ControlProps["attributes"];
  label: string;
  search: Search;
  shown: string;
  title: string | undefined;
  write(text: string): void;
  /** Takes what is typed as it is, where nothing was chosen. */
  leave(text: string): void;
  choose(one: Found): void;
  children?: ComponentChildren;
}

/** Combobox is a field with what was found. */
export function Combobox({ attributes, label, search, shown, title, write, leave, choose, children }: Props) {
  const { typed, found, fault, active } = search;
  const key = (event: KeyboardEvent) => {
    const list = found.value ?? [];
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (found.value === null) search.start(typed.value ?? "", event.key === "ArrowDown");
      else active.value = (active.value + (event.key === "ArrowDown" ? 1 : list.length - 1) + list.length) % Math.max(1, list.length);
    } else if (event.key === "Enter" && found.value !== null) {
      event.preventDefault();
      if (list[active.value]) choose(list[active.value]!);
    } else if (event.key === "Escape" && (found.value !== null || typed.value !== null)) {
      event.stopPropagation();
      search.close();
    }
  };
  const blur = () => {
    const text = typed.value;
    const match = found.value?.find((one) => one.id === text || one.name === text);
    if (match) choose(match);
    else {
      if (text) leave(text);
      search.close();
    }
  };
  const list = attributes.id + "-list";
  return (
    <div class="reference">
      <input {...attributes} type="text" role="combobox" aria-autocomplete="list" aria-expanded={!!found.value?.length} aria-controls={list} dir="auto" autocomplete="off" spellcheck={false}
        aria-activedescendant={active.value >= 0 && found.value ? `${list}-${active.value}` : undefined} value={typed.value ?? shown} title={title}
        onInput={({ currentTarget: { value } }) => { typed.value = value; write(value); search.start(value); }} onKeyDown={key} onClick={() => found.value === null && search.start("")} onBlur={blur} />
      {children}
      <ul id={list} role="listbox" aria-label={label} hidden={!found.value?.length}>
        {(found.value ?? []).map((one, i) => (
          <li id={`${list}-${i}`} key={one.id} role="option" aria-selected={i === active.value} dir="auto" onMouseDown={(event) => { event.preventDefault(); choose(one); }}>
            {brief(one.name)}{(one.about ?? one.id) !== one.name && <span class="unit"> {visible(one.about ?? one.id)}</span>}
          </li>
        ))}
      </ul>
      <p class="unit" role="status">{fault.value || (found.value && (found.value.length === 0 ? t("form.reference.none") : found.value.length === most ? t("form.reference.more", { count: most }) : ""))}</p>
    </div>
  );
}
