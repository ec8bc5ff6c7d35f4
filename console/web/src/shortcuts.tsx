import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { navigate, to, type Page } from "./router";
import { t } from "./texts";

export const shortcutsShown = signal(false);

const storageKey = "marquee.shortcuts";
/** Keys without a modifier can be switched off, as speech input may produce them. */
const enabled = signal(localStorage.getItem(storageKey) !== "off");

const keys = ["?", "t", "/", "n", "l", "h", "o", "j", "k", "Enter", "Ctrl+Enter"];

/** Follows the shortcuts while a page is shown. */
export function useShortcuts(page: Page) {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || !enabled.value) return;
      if (target.closest("input, select, textarea, dialog, .fields") || document.querySelector("dialog[open]")) return;
      if (act(event.key, page)) event.preventDefault();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [page]);
}

function act(key: string, page: Page): boolean {
  const network = "network" in page ? page.network : "";
  const type = "type" in page ? page.type : "";
  switch (key) {
    case "?":
      shortcutsShown.value = true;
      return true;
    case "t":
      return toTypes();
    case "/":
      return focus(document.querySelector<HTMLElement>("input[type=search]"));
    case "n":
      return go(document.querySelector<HTMLAnchorElement>("a[data-new]")?.href);
    case "l":
      return go(type && to.list(network, type));
    case "h":
      return go(network && to.history(network, type, page.kind === "object" ? page.ids.at(-1) : undefined));
    case "o":
      return go(network && to.overview(network));
    case "j":
    case "k":
      return step(key === "j" ? 1 : -1);
  }
  return false;
}

const go = (url: string | undefined) => {
  if (url) navigate(url);
  return !!url;
};

function focus(element: HTMLElement | null | undefined): boolean {
  element?.focus();
  return !!element;
}

/** Moves the focus to the field that finds a type, in the menu, which can be closed. */
export function toTypes(): boolean {
  const field = document.querySelector<HTMLElement>("input[aria-keyshortcuts=t]");
  field?.closest("details")!.setAttribute("open", "");
  return focus(field);
}

/** Moves the focus to the link of the next or the previous row. */
function step(by: number): boolean {
  const links = [...document.querySelectorAll<HTMLElement>("main tbody th a, main li.row > a")];
  const row = document.activeElement?.closest("tr, li.row");
  const at = links.findIndex((link) => row?.contains(link));
  return focus(links[at < 0 ? (by > 0 ? 0 : links.length - 1) : Math.min(Math.max(at + by, 0), links.length - 1)]);
}

export function Shortcuts() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current!.showModal(), []);
  return (
    <dialog ref={dialog} aria-labelledby="shortcuts" onClose={() => (shortcutsShown.value = false)}>
      <h2 id="shortcuts">{t("shortcuts.title")}</h2>
      <dl class="keys">
        {keys.map((key) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{t(`shortcuts.${key}`)}</dd>
          </div>
        ))}
      </dl>
      <label class="check">
        <input
          type="checkbox"
          checked={enabled.value}
          onChange={(event) => {
            enabled.value = event.currentTarget.checked;
            localStorage.setItem(storageKey, enabled.value ? "on" : "off");
          }}
        />
        {t("shortcuts.enabled")}
      </label>
      <form method="dialog">
        <button class="primary">{t("app.close")}</button>
      </form>
    </dialog>
  );
}
