// Parts of the console that are loaded when a page needs them.
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { t } from "./texts";

/** A component that is loaded when it is first shown. */
export function lazy<P extends {}>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let loaded: ComponentType<P> | null = null;
  return function Lazy(props: P) {
    const [failed, fail] = useState(false);
    const [, show] = useState(loaded !== null);
    useEffect(() => {
      if (!loaded) load().then((found) => {
        loaded = found;
        show(true);
      }, () => fail(true));
    }, []);
    if (failed) return <p role="alert">{t("status.unreachable")}</p>;
    const Loaded = loaded;
    return Loaded ? <Loaded {...props} /> : <p class="busy part">{t("status.loading")}</p>;
  };
}
