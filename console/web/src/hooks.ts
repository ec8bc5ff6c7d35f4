import { useEffect, useState } from "preact/hooks";
import { api, repeatable, type Answer } from "./api";
import { schemaOf, type Schema } from "./schema";

/** The answer to a read, or null until there is one. With another number it is read again, and the former answer is kept meanwhile. */
export function useAnswer<T = any>(path: string | null, again = 0): Answer<T> | null {
  return useAsked(path === null ? null : () => api.get<T>(path), `${path}`, again);
}

/** The schema of a type, which is not read as long as it is not needed. */
export function useSchema(network: string, type: string, needed = true): Answer<Schema> | null {
  return useAsked(needed ? () => schemaOf(network, type) : null, `${network}\n${type}\n${needed}`);
}

/**
 * Whether objects of a type have changed since an answer came, and a function that forgets it. Nothing
 * is followed without an answer, or while the page is hidden.
 */
export function useChanges(network: string, type: string, since: Answer | null): [boolean, () => void] {
  const [changed, note] = useState(false);
  useEffect(() => {
    if (!since) return;
    note(false);
    const ended = new AbortController();
    void changes({ network, type, after: since.headers.get("Marquee-Position") ?? "" }, ended.signal).next().then(({ done }) => done || ended.signal.aborted || note(true));
    return () => ended.abort();
  }, [network, type, since]);
  return [changed, () => note(false)];
}

/** How long is waited, in milliseconds, before changes are asked for again that could not be read. */
const pause = 10_000;

/** Yields the next position whenever objects of a type, or one of them, have changed since a position, or from now on. It ends when that cannot be known. */
export async function* changes(of: { network: string; type: string; id?: string; after?: string }, ended: AbortSignal): AsyncGenerator<string> {
  const { network, type, id } = of;
  for (let after = of.after ?? ""; !ended.aborted; ) {
    if (document.hidden) await new Promise((done) => document.addEventListener("visibilitychange", done, { once: true, signal: ended }));
    const answer = await api.follow(`/api/v1/changes?${new URLSearchParams({ context: network, type, include: "none", ...(id !== undefined && { id }), ...(after && { after, wait: "20" }) })}`, ended);
    if (ended.aborted || !(answer.status === 200 || repeatable(answer.status))) return;
    if (answer.status !== 200) await new Promise((done) => setTimeout(done, pause));
    else {
      after = answer.body.position;
      if (answer.body.results.length > 0 || answer.body.reset) yield after;
    }
  }
}

function useAsked<T>(ask: (() => Promise<Answer<T>>) | null, key: string, again = 0): Answer<T> | null {
  const [state, set] = useState<{ key: string; answer: Answer<T> } | null>(null);
  useEffect(() => {
    let wanted = true;
    ask?.().then((answer) => wanted && set({ key, answer }));
    return () => {
      wanted = false;
    };
  }, [key, again]);
  return state && state.key === key ? state.answer : null;
}
