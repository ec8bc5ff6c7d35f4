// Values of objects, as text whatever they contain.
import { useState } from "preact/hooks";
import { idsIn } from "./api";
import { brief, explain, t, visible, type Message } from "./texts";
import { to } from "./router";
import type { Property } from "./schema";

/** How much of a text is shown at once. */
const maxShown = 300;

/** A text that may be long, cut with a way to see more of it. Of a paragraph, whose direction it has, it is a plain part. */
export function Text(props: { text: string; max?: number; plain?: boolean }) {
  const first = props.max ?? maxShown;
  const [shown, show] = useState(first);
  const text = visible(props.text.slice(0, Math.max(shown, first)));
  return (
    <>
      {props.plain ? text : <bdi>{text}</bdi>}
      {shown < props.text.length && (
        <>
          {"… "}
          <button type="button" class="link" onClick={() => show(Math.max(shown * 10, 3000))}>
            {t("value.more", { count: props.text.length - shown })}
          </button>
        </>
      )}
    </>
  );
}

export function Time(props: { value: string }) {
  if (Number.isNaN(Date.parse(props.value))) return <Text text={props.value} />;
  return (
    <time dateTime={props.value} title={props.value}>
      {timeOf(props.value)}
    </time>
  );
}

/** A date, which has no time zone, or a time by the clock here. Midnight is a date. */
export function timeOf(value: string): string {
  const time = new Date(value);
  if (!value.includes("T")) return time.toLocaleDateString(undefined, { dateStyle: "medium", timeZone: "UTC" });
  return time.toLocaleString(undefined, { dateStyle: "medium", timeStyle: time.getHours() + time.getMinutes() > 0 ? "short" : undefined });
}

/** The name of a referenced object, which leads to it if the caller sees that. */
export function Reference(props: { network: string; type: string; value: any }) {
  const { value, type, network } = props;
  const id = typeof value === "string" ? value : value?.id;
  if (typeof id !== "string") return null;
  const name = String(value?.name || id);
  return value?.url ? (
    <a href={to.object(network, type, ...idsIn(value.url))}>
      <bdi>{brief(name, 80)}</bdi>
    </a>
  ) : (
    <Text text={name} max={80} />
  );
}

/** A value of a property in a cell. */
export function Value(props: { network: string; property: Property; value: any }) {
  const { property, value, network } = props;
  if (value === undefined || value === null || value === "") return <span class="none">–</span>;
  switch (property.kind) {
    case "reference":
      return <Reference network={network} type={property.target!} value={value} />;
    case "references":
      return (
        <>
          {(Array.isArray(value) ? value : []).slice(0, 5).map((one, i) => (
            <span key={i}>
              {i > 0 && ", "}
              <Reference network={network} type={property.target!} value={one} />
            </span>
          ))}
          {value.length > 5 && ` ${t("value.others", { count: value.length - 5 })}`}
        </>
      );
    case "time":
      return <Time value={String(value)} />;
    case "boolean":
      return <>{t(value ? "value.yes" : "value.no")}</>;
    case "enum":
      return <span class={`state state-${String(value).toLowerCase().replace(/[^a-z]/g, "")}`}>{<Text text={String(value)} max={80} />}</span>;
  }
  return <Plain value={value} max={120} />;
}

/** A value as one line of text. */
export function flat(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value) && value.every((one) => typeof one !== "object" || one === null)) return value.join(", ");
  return JSON.stringify(value) ?? "";
}

/** A value of any kind as one line; a time as people write it. */
export function Plain(props: { value: unknown; max: number }) {
  const { value, max } = props;
  if (value === undefined || value === null) return <span class="none">–</span>;
  return typeof value === "string" && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value) ? <Time value={value} /> : <Text text={flat(value)} max={max} />;
}

/** Messages of the service, or why there was no answer. */
export function Messages(props: { status: number; messages?: Message[] }) {
  const messages = props.messages ?? [];
  return (
    <div class="notice bad" role="alert">
      {messages.length === 0 ? (
        <p>{t(props.status === 0 ? "status.unreachable" : props.status === 404 ? "status.missing" : "status.other", { status: props.status })}</p>
      ) : (
        <ul>
          {messages.map((message, i) => (
            <li key={i}>
              <Text text={explain(message)} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
