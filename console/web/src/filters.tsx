import { useState } from "preact/hooks";
import { address } from "./router";
import { change } from "./list";
import { Picker } from "./picker";
import type { Property } from "./schema";
import { t, visible } from "./texts";
import { format, parse, unary, type Condition } from "./where";

const operators: Record<string, string[]> = {
  text: ["=", "!=", "in", "is null", "is not null"],
  enum: ["=", "!=", "in", "is null", "is not null"],
  boolean: ["=", "is null", "is not null"],
  number: ["=", "!=", ">", ">=", "<", "<=", "is null", "is not null"],
  time: [">=", "<=", ">", "<", "=", "is null", "is not null"],
  reference: ["=", "!=", "is null", "is not null"],
  references: ["=", "!=", "is null", "is not null"],
};
const every = ["=", "!=", ">", ">=", "<", "<=", "in", "not in", "is null", "is not null"];

/** The conditions of a list, each by the kind of its property, or as the text that the API takes. */
export function Filters(props: { network: string; properties: Map<string, Property>; names: string[] }) {
  const where = address.value.searchParams.get("where") ?? "";
  const count = parse(where)?.length ?? 1;
  return (
    <details class="panel">
      <summary>{count > 0 ? t("filter.titled", { count }) : t("filter.title")}</summary>
      <Body key={where} {...props} where={where} />
    </details>
  );
}

function Body(props: { network: string; properties: Map<string, Property>; names: string[]; where: string }) {
  const parsed = parse(props.where);
  const [conditions, set] = useState<Condition[]>(parsed ?? []);
  const [asText, write] = useState(parsed === null);
  const [text, type] = useState(props.where);
  const query = address.value.searchParams;
  const put = (at: number, condition: Condition | null) => set(conditions.flatMap((one, i) => (i !== at ? [one] : condition ? [condition] : [])));
  const states: [string, boolean][] = [
    ["includeActive", query.get("includeActive") !== "false"],
    ["includeInactive", query.get("includeInactive") !== "false"],
    ["includeHidden", query.get("includeHidden") === "true"],
    ["excludeInvalid", query.get("excludeInvalid") === "true"],
    ["onlyMine", query.get("onlyMine") === "true"],
  ];
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        change({ where: asText ? text.trim() : format(conditions) });
      }}
    >
      <fieldset>
        <legend>{t("filter.show")}</legend>
        {states.map(([name, checked]) => (
          <label class="check" key={name}>
            <input
              type="checkbox"
              checked={checked}
              onChange={(event) => {
                const on = event.currentTarget.checked;
                const usual = name === "includeActive" || name === "includeInactive";
                change({ [name]: on === usual ? null : String(on) });
              }}
            />
            {t(`filter.${name}`)}
          </label>
        ))}
      </fieldset>
      {asText ? (
        <label>
          <span>{t("filter.where")}</span>
          <textarea rows={3} value={text} spellcheck={false} onInput={(event) => type(event.currentTarget.value)} />
        </label>
      ) : (
        <ul class="conditions">
          {conditions.map((condition, at) => (
            <li key={at}>
              <One {...props} condition={condition} onChange={(next) => put(at, next)} />
              <button
                type="button"
                aria-label={t("filter.remove", { property: condition.property })}
                onClick={(event) => {
                  event.currentTarget.closest("form")!.querySelector<HTMLElement>(".actions button")!.focus();
                  put(at, null);
                }}
              >
                ✕
              </button>
            </li>
          ))}
        </ul>
      )}
      <p class="actions">
        {!asText && (
          <button type="button" onClick={() => set([...conditions, { property: props.names[0], operator: operatorsOf(props.properties.get(props.names[0]))[0], value: "" }])}>
            {t("filter.add")}
          </button>
        )}
        <button class="primary">{t("filter.apply")}</button>
        <button
          type="button"
          class="link"
          disabled={asText && parse(text) === null}
          onClick={() => {
            if (asText) set(parse(text) ?? []);
            else type(format(conditions));
            write(!asText);
          }}
        >
          {t(asText ? "filter.form" : "filter.text")}
        </button>
      </p>
    </form>
  );
}

const operatorsOf = (property: Property | undefined) => (property && operators[property.kind]) || every;

function One(props: { network: string; properties: Map<string, Property>; names: string[]; condition: Condition; onChange: (next: Condition) => void }) {
  const { condition, onChange } = props;
  const property = props.properties.get(condition.property);
  const title = property?.title ?? visible(condition.property);
  const names = props.names.includes(condition.property) ? props.names : [condition.property, ...props.names];
  const listed = operatorsOf(property);
  const value = { value: condition.value, "aria-label": t("filter.value", { property: title }) };
  const typed = (text: string) => onChange({ ...condition, value: text });
  return (
    <>
      <select
        aria-label={t("filter.property")}
        value={condition.property}
        onChange={(event) => onChange({ property: event.currentTarget.value, operator: operatorsOf(props.properties.get(event.currentTarget.value))[0], value: "" })}
      >
        {names.map((name) => (
          <option key={name} value={name}>
            {props.properties.get(name)?.title ?? visible(name)}
          </option>
        ))}
      </select>
      <select aria-label={t("filter.operator", { property: title })} value={condition.operator} onChange={(event) => onChange({ ...condition, operator: event.currentTarget.value })}>
        {(listed.includes(condition.operator) ? listed : [condition.operator, ...listed]).map((operator) => (
          <option key={operator} value={operator}>
            {t(`operator.${operator}`)}
          </option>
        ))}
      </select>
      {unary(condition.operator) ? null : (property?.kind === "enum" && !condition.operator.endsWith("in")) || property?.kind === "boolean" ? (
        <select {...value} onChange={(event) => typed(event.currentTarget.value)}>
          <option value="" />
          {(property.kind === "boolean" ? ["true", "false"] : property.values!.map(String)).map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      ) : property?.kind === "reference" || property?.kind === "references" ? (
        <Picker label={t("filter.value", { property: title })} network={props.network} type={property.target!} value={condition.value} onPick={typed} />
      ) : (
        <input {...value} placeholder={property?.kind === "time" ? t("filter.time") : undefined} inputMode={property?.kind === "number" ? "decimal" : undefined} onInput={(event) => typed(event.currentTarget.value)} />
      )}
    </>
  );
}
