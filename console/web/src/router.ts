// The address of the page is the state of the page: what it shows follows from it alone.
import { signal } from "@preact/signals";

export const base = "/console";

/** The address that is shown, without what stands before the path. */
export const address = signal(new URL(location.href));

/** Questions that are asked before the page is left, such as whether to lose what was typed. */
const guards = new Set<() => boolean>();

/** Has a function asked before another address is shown; false stays. Returns how to stop that. */
export function guard(ask: () => boolean): () => void {
  guards.add(ask);
  return () => guards.delete(ask);
}

/** Whether the page may be left, which the guards are asked. */
export const allowed = () => [...guards].every((ask) => ask());

/** Shows another address of the console, unless a guard objects. Only the query of the same page needs none. */
export function navigate(url: string, how: { replace?: boolean } = {}): void {
  const next = new URL(url, address.value);
  const moved = next.pathname !== address.value.pathname;
  if (moved && !allowed()) return;
  if (moved && !how.replace) history.replaceState({ left: next.pathname }, ""); // a list goes on from there after Back
  history[how.replace ? "replaceState" : "pushState"](null, "", next);
  show(next);
}

function show(next: URL) {
  const moved = next.pathname !== address.value.pathname;
  address.value = next;
  if (moved) scrollTo(0, 0);
}

addEventListener("popstate", () => {
  const next = new URL(location.href);
  if (next.pathname !== address.value.pathname && !allowed()) {
    history.pushState(null, "", address.value);
    return;
  }
  show(next);
});

addEventListener("beforeunload", (event) => {
  if (guards.size > 0) event.preventDefault();
});

// Links to the console change the page without loading it again.
addEventListener("click", (event) => {
  const link = (event.target as Element | null)?.closest?.("a[href]") as HTMLAnchorElement | null;
  if (!link || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  if (link.origin !== location.origin || link.target || link.hasAttribute("download") || !`${link.pathname}/`.startsWith(`${base}/`)) return;
  if (link.hash && link.pathname === location.pathname) return;
  event.preventDefault();
  navigate(link.href);
});

/** A page of the console, as its address names it. */
export type Page =
  | { kind: "home" }
  | { kind: "overview" | "history" | "access" | "notifications" | "health" | "account"; network: string }
  | { kind: "list" | "new" | "type"; network: string; type: string }
  | { kind: "object"; network: string; type: string; ids: string[] }
  | { kind: "unknown"; network: string };

/** The names of types. Others would lead requests to other paths of the service. */
const typeName = /^[a-z0-9]+$/;

/** The page of a path. */
export function pageOf(path: string): Page {
  let parts: string[];
  try {
    parts = path.slice(base.length).split("/").filter(Boolean).map(decodeURIComponent);
  } catch {
    return { kind: "unknown", network: "" };
  }
  const [root, network, kind = "overview", type, ...ids] = parts;
  if (parts.length === 0) return { kind: "home" };
  if (root === "account" && parts.length === 1) return { kind: "account", network: "" };
  if (root !== "networks" || !network) return { kind: "unknown", network: "" };
  if (kind === "overview" || kind === "history" || kind === "access" || kind === "notifications" || kind === "health" || kind === "account") return { kind, network };
  if (!type || !typeName.test(type)) return { kind: "unknown", network };
  if (kind === "object" && (ids.length === 1 || ids.length === 2)) return { kind, network, type, ids };
  if (kind === "list" || kind === "new" || kind === "type") return { kind, network, type };
  return { kind: "unknown", network };
}

const of = (...parts: string[]) => `${base}/networks/${parts.map(encodeURIComponent).join("/")}`;

/** The addresses of pages. */
export const to = {
  home: () => `${base}/`,
  overview: (network: string) => of(network),
  list: (network: string, type: string) => of(network, "list", type),
  /** The id of an object is behind that of its parent, if it has one. */
  object: (network: string, type: string, ...ids: string[]) => of(network, "object", type, ...ids),
  /** The address can name the parent of the new object. */
  create: (network: string, type: string, parent = "") => of(network, "new", type) + (parent && `?${new URLSearchParams({ parent })}`),
  type: (network: string, type: string) => of(network, "type", type),
  access: (network: string) => of(network, "access"),
  notifications: (network: string) => of(network, "notifications"),
  health: (network: string) => of(network, "health"),
  account: (network: string) => (network ? of(network, "account") : `${base}/account`),
  history: (network: string, type?: string, id?: string) => {
    const query = new URLSearchParams({ ...(type && { type }), ...(type && id && { id }) }).toString();
    return of(network, "history") + (query && `?${query}`);
  },
};
