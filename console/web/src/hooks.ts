import { useEffect, useState } from "preact/hooks";
import { api, type Answer } from "./api";
import { schemaOf, type Schema } from "./schema";

/** The answer to a read, or null until there is one. With another number it is read again, and the former answer is kept meanwhile. */
export function useAnswer<T = any>(path: string | null, again = 0): Answer<T> | null {
  return useAsked(path === null ? null : () => api.get<T>(path), `${path}`, again);
}

/** The schema of a type. */
export function useSchema(network: string, type: string): Answer<Schema> | null {
  return useAsked(() => schemaOf(network, type), `${network}\n${type}`);
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
