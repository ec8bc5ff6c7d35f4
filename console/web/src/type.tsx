// What the schema of a type says, in words.
import { useEffect, useState } from "preact/hooks";
import { pathOf } from "./api";
import { Heading, titleOf } from "./app";
import { useAnswer, useSchema } from "./hooks";
import { to } from "./router";
import { propertiesOf, resolved, schemaOf, types, worded, type Schema } from "./schema";
import { t, visible } from "./texts";
import { flat, Messages, Text } from "./values";

export function TypePage(props: { network: string; type: string }) {
  const { network, type } = props;
  const schema = useSchema(network, type);
  const info = types.value.find((one) => one.type === type);
  const count = useAnswer((info?.parent ?? schema?.body?.["x-resource"]?.parent) ? null : pathOf(type, network, undefined, { pageSize: "1", fields: "id" }));
  const title = info?.title ?? schema?.body?.title ?? type;
  return (
    <>
      <div class="head">
        <Heading text={t("type.title", { type: title })} />
        <span class="actions">
          <a class="button" href={to.list(network, type)}>
            {t("type.list")}
          </a>
          {info && info.scope !== "global" && (
            <a class="button" href={to.history(network, type)}>
              {t("history.title")}
            </a>
          )}
          <a class="button" href={`/docs/types/${encodeURIComponent(type)}`}>
            {t("type.api")}
          </a>
        </span>
      </div>
      {schema === null ? (
        <p class="busy">{t("status.loading")}</p>
      ) : schema.status !== 200 ? (
        <Messages status={schema.status} messages={(schema.body as any)?.messages} />
      ) : (
        <About network={network} type={type} schema={schema.body} count={count?.status === 200 ? count.body.totalCount : undefined} writable={info?.writable ?? false} />
      )}
    </>
  );
}

function About(props: { network: string; type: string; schema: Schema; count?: number; writable: boolean }) {
  const { schema, network } = props;
  const resource: Schema = schema["x-resource"] ?? {};
  const required = new Set<string>(schema.required ?? []);
  const properties = [...propertiesOf(schema).values()].filter(({ name }) => schema.properties?.[name]);
  const permissions = { write: resource.permission, ...resource.permissions };
  const facts: string[] = [
    ...(props.count === undefined ? [] : [t("type.count", { count: props.count.toLocaleString() })]),
    t(props.writable ? "type.writable" : "type.readonly"),
    ...(["read", "write", "create"] as const).filter((kind) => permissions[kind]).map((kind) => t(`type.permission.${kind}`, { permission: permissions[kind] })),
    ...(resource.scope === "global" ? [t("type.global")] : []),
    ...(resource.parent ? [t("type.parent", { parent: resource.parent })] : []),
    ...(resource.search?.length ? [t("type.search", { properties: resource.search.join(", ") })] : []),
    ...(resource.unique ?? []).map((entry: any) => t("type.unique", { properties: [typeof entry === "string" ? entry : (entry.properties ?? entry)].flat().join(", ") })),
    ...(resource.public ? [t("type.public")] : []),
    ...(schema["x-compare"] ?? []).map((one: any) => t("type.compare", { left: one.left, op: one.op, right: one.right })),
  ];
  return (
    <>
      {schema.description && (
        <p>
          <Text text={schema.description} />
        </p>
      )}
      <ul>
        {facts.map((fact) => (
          <li key={fact}>
            <Text text={fact} />
          </li>
        ))}
      </ul>
      <Rules title={t("type.warnings")} rules={(schema["x-warnings"] ?? []).map((one: any) => one.text ?? one.code)} />
      <Rules title={t("type.rules")} rules={(schema["x-validations"] ?? []).map((one: any) => one.message ?? one.text ?? one.rule)} />
      <h2>{t("type.properties")}</h2>
      <div class="scroll" role="region" aria-label={t("type.properties")} tabIndex={0}>
        <table class="wrapped">
          <thead>
            <tr>
              <th scope="col">{t("type.property")}</th>
              <th scope="col">{t("type.kind")}</th>
              <th scope="col">{t("type.description")}</th>
            </tr>
          </thead>
          <tbody>
            {properties.map((property) => (
              <tr key={property.name}>
                <th scope="row">
                  <Text text={property.name} max={80} />
                </th>
                <td>
                  {t(`kind.${property.kind}`)}
                  {property.target && types.value.some((one) => one.type === property.target) && (
                    <>
                      {" "}
                      <a href={to.type(network, property.target)}>
                        <bdi>{titleOf(property.target)}</bdi>
                      </a>
                    </>
                  )}
                  {required.has(property.name) && `, ${t("type.required")}`}
                  {rulesOf(resolved(schema, schema.properties[property.name])).map((rule) => (
                    <div class="hint" key={rule}>
                      <Text text={rule} />
                    </div>
                  ))}
                </td>
                <td>{property.description && <Text text={property.description} />}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <ReferredBy network={network} type={props.type} />
    </>
  );
}

function Rules(props: { title: string; rules: unknown[] }) {
  if (props.rules.length === 0) return null;
  return (
    <>
      <h2>{props.title}</h2>
      <ul>
        {props.rules.map((rule, i) => (
          <li key={i}>
            <Text text={flat(rule)} />
          </li>
        ))}
      </ul>
    </>
  );
}

/** The rules of a value that are not about its kind. */
const described = new Set(["title", "description", "examples", "type", "properties", "items", "additionalProperties", "required", "x-ref", "anyOf", "oneOf", "allOf", "if", "then", "else", "not", "propertyNames"]);

const rulesOf = (schema: Schema): string[] =>
  Object.entries(schema)
    .filter(([name]) => !described.has(name) && !name.startsWith("$"))
    .map(([name, value]) => (value === true ? worded(name.replace(/^x-/, "")) : `${worded(name.replace(/^x-/, ""))}: ${flat(value)}`));

/** The types whose objects refer to those of this one. It reads all schemas that the caller sees, when it is asked to. */
function ReferredBy(props: { network: string; type: string }) {
  const [asked, ask] = useState(false);
  const [found, show] = useState<{ type: string; path: string }[] | null>(null);
  useEffect(() => {
    if (!asked) return;
    let wanted = true;
    Promise.all(types.value.map(async ({ type }) => ({ type, answer: await schemaOf(props.network, type) }))).then((all) => {
      const links = all.flatMap(({ type, answer }) => (answer.status === 200 ? referring(answer.body, props.type).map((path) => ({ type, path })) : []));
      if (wanted) show(links);
    });
    return () => {
      wanted = false;
    };
  }, [asked, types.value]);
  return (
    <>
      <h2>{t("type.referred")}</h2>
      {!asked ? (
        <button type="button" onClick={() => ask(true)}>
          {t("type.find")}
        </button>
      ) : found === null ? (
        <p class="busy">{t("status.loading")}</p>
      ) : found.length === 0 ? (
        <p>{t("type.unreferred")}</p>
      ) : (
        <ul>
          {found.map(({ type, path }) => (
            <li key={`${type} ${path}`}>
              <a href={to.type(props.network, type)}>
                <bdi>{titleOf(type)}</bdi>
              </a>{" "}
              <bdi>{visible(path)}</bdi>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/** How deep references are looked for. */
const maxDepth = 8;

/** The places of references to a type. */
function referring(root: Schema, target: string): string[] {
  const found: string[] = [];
  const walk = (schema: Schema | undefined, path: string, depth: number) => {
    const inner = resolved(root, schema);
    const ref = inner["x-ref"];
    if ((typeof ref === "string" ? ref : ref?.type) === target) found.push(path);
    if (ref || depth > maxDepth) return;
    for (const [name, member] of Object.entries<Schema>(inner.properties ?? {})) walk(member, path ? `${path}.${name}` : name, depth + 1);
    if (inner.items && typeof inner.items === "object") walk(inner.items, `${path}[]`, depth + 1);
    if (inner.additionalProperties && typeof inner.additionalProperties === "object") walk(inner.additionalProperties, `${path}.*`, depth + 1);
  };
  walk(root, "", 0);
  return found;
}
