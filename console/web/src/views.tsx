import { useState } from "preact/hooks";
import { me } from "./api";
import { address, to } from "./router";
import { t } from "./texts";

type Kept = Record<string, string>;

/** Other users of the browser have views of their own: names and conditions can tell what only one of them sees. */
const storageKey = (network: string, type: string) => `marquee.views.${me.value}.${network}.${type}`;

function read(key: string): Kept {
  try {
    const found = JSON.parse(localStorage.getItem(key) ?? "{}");
    return typeof found === "object" && found ? Object.fromEntries(Object.entries(found).filter(([, query]) => typeof query === "string")) as Kept : {};
  } catch {
    return {};
  }
}

/** Addresses of a list under names, kept in this browser. */
export function Views(props: { network: string; type: string }) {
  const key = storageKey(props.network, props.type);
  const [views, show] = useState(() => read(key));
  const keep = (next: Kept) => {
    localStorage.setItem(key, JSON.stringify(next));
    show(next);
  };
  return (
    <details class="panel">
      <summary>{t("views.title")}</summary>
      {Object.keys(views).length > 0 && (
        <ul class="columns">
          {Object.entries(views).map(([name, query]) => (
            <li key={name}>
              <a href={`${to.list(props.network, props.type)}?${query}`}>
                <bdi>{name}</bdi>
              </a>
              <button
                type="button"
                aria-label={t("views.remove", { name })}
                onClick={(event) => {
                  event.currentTarget.closest("details")!.querySelector("input")!.focus();
                  keep(Object.fromEntries(Object.entries(views).filter(([other]) => other !== name)));
                }}
              >
                ✕
              </button>
            </li>
          ))}
        </ul>
      )}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const field = event.currentTarget.elements.namedItem("name") as HTMLInputElement;
          const query = new URLSearchParams(address.value.search);
          query.delete("cursor");
          query.delete("from");
          keep({ ...views, [field.value.trim()]: query.toString() });
          field.value = "";
        }}
      >
        <label>
          <span>{t("views.name")}</span>
          <input name="name" required maxLength={80} pattern=".*\S.*" />
        </label>
        <button>{t("views.keep")}</button>
      </form>
      <p class="hint">{t("views.hint")}</p>
    </details>
  );
}
