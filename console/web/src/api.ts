// Requests to the service. The access token is kept in memory, the refresh token in
// sessionStorage. Tabs of the same user share a session, and refresh it once.
import { signal } from "@preact/signals";
import { parseJson } from "./exact";
import type { Message } from "./texts";

/** An answer, whatever its status. The status 0 means that there was no answer. */
export interface Answer<T = any> {
  status: number;
  headers: Headers;
  body: T;
}

/** Who is signed in: nobody, somebody, or somebody whose session has ended while the page is open. At first it is not known. */
export const session = signal<"starting" | "none" | "open" | "ended">("starting");
/** The id of the user who is signed in, or whose session has ended. */
export const me = signal("");
/** The digest of the schemas that the last answer was made with; another one means that types have changed. */
export const schemasDigest = signal("");
/** Why the last request has to wait, for how many seconds, or null. */
export const waiting = signal<{ seconds: number; messages: Message[] } | null>(null);

const storageKey = "marquee.refresh";
const maxRepeats = 5;

let access = "";
let expires = 0;
let refreshing: Promise<boolean> | null = null;
/** Requests that wait for somebody to sign in again. */
let resume: (() => void)[] = [];
/** Whether this tab waits for the session of another one. */
let asking = false;
const tabs = new BroadcastChannel("marquee.session");

const kept = () => sessionStorage.getItem(storageKey) ?? "";

interface Tokens {
  access_token: string;
  refresh_token: string;
  expires_in: string;
}

function adopt(tokens: Tokens) {
  asking = false;
  access = tokens.access_token;
  expires = Date.now() + Number(tokens.expires_in) * 1000;
  sessionStorage.setItem(storageKey, tokens.refresh_token);
  const user = subject(access);
  if (me.value && me.value !== user) return location.reload(); // what waits is a request of another user
  me.value = user;
  session.value = "open";
  const waited = resume;
  resume = [];
  for (const go of waited) go();
}

function forget() {
  access = "";
  sessionStorage.removeItem(storageKey);
}

tabs.onmessage = ({ data }: MessageEvent<{ ask?: true; from?: string; tokens?: Tokens; ended?: string }>) => {
  const mine = kept();
  if (data.ask && mine && access) {
    tabs.postMessage({ from: "", tokens: { access_token: access, refresh_token: mine, expires_in: String(Math.max(0, (expires - Date.now()) / 1000)) } });
  } else if (data.tokens && data.from === mine && (mine || asking)) {
    adopt(data.tokens);
  } else if (data.ended && data.ended === mine) {
    forget();
    session.value = "ended";
  }
};

/** Begins with the session of this tab, or of another tab that is open. */
export async function begin(): Promise<void> {
  if (!kept()) {
    asking = true;
    tabs.postMessage({ ask: true });
    await new Promise((done) => setTimeout(done, 100)); // an answer that comes later ends the sign-in
  }
  if (session.value === "starting" && kept()) await refresh();
  if (session.value === "starting") session.value = "none";
}

/** Signs in. The answer is that of the service; 200 has begun a session. */
export async function signIn(username: string, password: string): Promise<Answer> {
  const answer = await once("POST", "/api/authenticate", { grant_type: "password", username, password });
  if (answer.status === 200) adopt(answer.body);
  return answer;
}

/** Ends the session, here and on the server. */
export async function signOut(): Promise<void> {
  const token = kept();
  if (token) {
    tabs.postMessage({ ended: token });
    await once("POST", "/api/authenticate/revoke", { token });
  }
  forget();
  session.value = "none";
  // What was read for the user is forgotten, too. The pages that could object are gone by then.
  setTimeout(() => location.reload());
}

/** The user whom an access token names. */
function subject(token: string): string {
  try {
    return JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(token.split(".")[1].replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0)))).sub;
  } catch {
    return "";
  }
}

/** Replaces the tokens, once for all requests that need it. False means that the session has ended. */
function refresh(): Promise<boolean> {
  return (refreshing ??= (async () => {
    const token = kept();
    if (!token) return false;
    for (let repeats = 0; ; repeats++) {
      const answer = await once("POST", "/api/authenticate", { grant_type: "refresh_token", refresh_token: token });
      if (answer.status === 200) {
        adopt(answer.body);
        tabs.postMessage({ from: token, tokens: answer.body });
        return true;
      }
      if (kept() !== token) return kept() !== ""; // another tab was first, or somebody signed out
      if (!repeatable(answer.status) || repeats >= maxRepeats) {
        if (!repeatable(answer.status)) forget();
        return false;
      }
      await pause(answer, repeats);
    }
  })().finally(() => (refreshing = null)));
}

export const repeatable = (status: number) => status === 0 || status === 429 || status === 503;

/** Waits as long as an answer asks for, and shows that. */
async function pause(answer: Answer, repeats: number): Promise<void> {
  const seconds = Math.min(Number(answer.headers.get("Retry-After")) || 2 ** repeats, 30);
  waiting.value = { seconds, messages: answer.body?.messages ?? [] };
  await new Promise((done) => setTimeout(done, seconds * 1000));
  waiting.value = null;
}

async function repeated(ask: () => Promise<Answer>): Promise<Answer> {
  for (let repeats = 0; ; repeats++) {
    const answer = await ask();
    if (!repeatable(answer.status) || repeats >= maxRepeats) return answer;
    await pause(answer, repeats);
  }
}

/** Sends a request with the token of the session, and again after a new sign-in if that has ended. */
async function authorized(method: string, path: string, body?: unknown, headers?: Record<string, string>, ask: typeof once = once): Promise<Answer> {
  if (!access || Date.now() > expires - 10_000) await refresh();
  for (let again = false; ; again = true) {
    const answer = access ? await ask(method, path, body, { ...headers, Authorization: `Bearer ${access}` }) : unauthorized;
    if (answer.status !== 401) return answer;
    if (!again && access && (await refresh())) continue;
    if (kept()) return unreachable;
    if (session.value === "none") return answer;
    session.value = "ended";
    await new Promise<void>((done) => resume.push(done));
  }
}

const unreachable: Answer = { status: 0, headers: new Headers(), body: { messages: [] } };
const unauthorized: Answer = { status: 401, headers: new Headers(), body: { messages: [] } };

async function once(method: string, path: string, body?: unknown, headers: Record<string, string> = {}, signal?: AbortSignal): Promise<Answer> {
  const init: RequestInit = { method, headers, signal, credentials: "omit", cache: "no-cache", redirect: "error" };
  if (body !== undefined) {
    init.headers = { "Content-Type": "application/json", ...headers };
    init.body = typeof body === "string" || body instanceof Blob || body instanceof FormData ? body : JSON.stringify(body);
    if (body instanceof FormData) init.headers = headers;
  }
  try {
    const response = await fetch(path, init);
    const text = await response.text();
    schemasDigest.value = response.headers.get("Marquee-Schemas") ?? schemasDigest.value;
    return { status: response.status, headers: response.headers, body: parsed(text, response.headers.get("Content-Type") ?? "") };
  } catch {
    return unreachable;
  }
}

/** Sends a form like once, and says how much of it has been sent, which fetch cannot. */
function sending(progress: (sent: number, total: number) => void, ended: AbortSignal): typeof once {
  return (method, path, body, headers = {}) =>
    new Promise((done) => {
      if (ended.aborted) return done(unreachable);
      const request = new XMLHttpRequest();
      request.open(method, path);
      for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
      request.upload.onprogress = ({ loaded, total }) => progress(loaded, total);
      request.onload = () => done({ status: request.status, headers: new Headers(), body: parsed(request.responseText, request.getResponseHeader("Content-Type") ?? "") });
      request.onerror = request.onabort = () => done(unreachable);
      ended.addEventListener("abort", () => request.abort());
      request.send(body as FormData);
    });
}

function parsed(text: string, type: string): any {
  if (!text) return null;
  if (!/\bjson\b/.test(type)) return text;
  try {
    return parseJson(text);
  } catch {
    return null;
  }
}

export const api = {
  /** Reads. While the service asks to wait, or cannot be reached, the request is repeated a few times. */
  get<T = any>(path: string, headers?: Record<string, string>): Promise<Answer<T>> {
    return repeated(() => authorized("GET", path, undefined, headers));
  },
  /** Writes with a key by which the service knows a request that it has had already, so that it is repeated like a read. */
  sendKeyed<T = any>(method: string, path: string, body: unknown, key: string): Promise<Answer<T>> {
    return repeated(() => authorized(method, path, body, { "Idempotency-Key": key }));
  },
  /** Reads once, until it is ended. It asks nobody to sign in, and shows nobody that it has to wait. */
  async follow<T = any>(path: string, ended: AbortSignal): Promise<Answer<T>> {
    if (Date.now() > expires - 10_000) await refresh();
    return access ? once("GET", path, undefined, { Authorization: `Bearer ${access}` }, ended) : unauthorized;
  },
  /** Writes, once. A request that the service has refused because of its session is sent again after the next sign-in. */
  send<T = any>(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer<T>> {
    return authorized(method, path, body, headers);
  },
  /** Sends a form with files, once, until it is ended. */
  upload<T = any>(path: string, form: FormData, progress: (sent: number, total: number) => void, ended: AbortSignal): Promise<Answer<T>> {
    return authorized("POST", path, form, undefined, sending(progress, ended));
  },
};

/** A random UUID. The one of the browser, crypto.randomUUID, is missing in pages that come over HTTP from another machine. */
export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16)).map((byte, i) => (i === 6 ? (byte & 15) | 64 : i === 8 ? (byte & 63) | 128 : byte));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** The path of objects of a type, or of one of them, whose id is behind that of its parent, if it has one. */
export function pathOf(type: string, network: string, ids: string | readonly string[] = [], query: Record<string, string> = {}): string {
  const search = new URLSearchParams({ context: network, ...query });
  return `/api/v1/${[type, ...[ids].flat().map(encodeURIComponent)].join("/")}?${search}`;
}

/** The ids in the address of an object in the API. */
export const idsIn = (url: string): string[] => url.split("?")[0].split("/").slice(4).map(decodeURIComponent);
