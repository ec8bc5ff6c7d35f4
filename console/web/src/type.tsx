// What the schema of a type says, in words.
import { useEffect, useState } from "preact/hooks";
import { api, pathOf } from "./api";
import { Heading, titleOf } from "./app";
import { membersOf } from "./form/schema";
import { useAnswer, useSchema } from "./hooks";
import { to } from "./router";
import { propertiesOf, resolved, schemaOf, types, worded, type Schema, type TypeInfo } from "./schema";
import { t, visible } from "./texts";
import { flat, Messages, Text } from "./values";
import { format } from "./where";

export function TypePage(props: { network: string; type: string }) {
  const { network, type } = props;
  const schema = useSchema(network, type);
  const info = types.value.find((one) => one.type === type);
  const known = info ?? (schema?.status === 200 ? { parent: schema.body["x-resource"]?.parent } : undefined);
  const count = useAnswer(!known || known.parent ? null : pathOf(type, network, undefined, { pageSize: "1", fields: "id" }));
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
  const members = membersOf(schema, schema);
  const properties = [...propertiesOf(schema).values()].filter(({ name }) => members.has(name));
  const permissions = { write: resource.permission, ...resource.permissions };
  const facts: string[] = [
    ...(props.count === undefined ? [] : [t("type.count", { count: props.count })]),
    t(props.writable ? "type.writable" : "type.readonly"),
    ...(["read", "write", "create"] as const).filter((kind) => permissions[kind]).map((kind) => t(`type.permission.${kind}`, { permission: permissions[kind] })),
    ...(resource.scope === "global" ? [t("type.global")] : []),
    ...(resource.parent ? [t("type.parent", { parent: resource.parent })] : []),
    ...(resource.search?.length ? [t("type.search", { properties: resource.search.join(", ") })] : []),
    ...(resource.unique ?? []).map((entry: any) => t("type.unique", { properties: [typeof entry === "string" ? entry : (entry.properties ?? entry)].flat().join(", ") })),
    ...(resource.public ? [t("type.public")] : []),
    ...(schema["x-exclusive"] ?? []).map((one: any) => t("type.exclusive", { properties: one.properties, from: one.from, to: one.to })),
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
      <Rules title={t("type.warnings")} rules={textsOf(schema["x-warnings"] ?? [])} />
      <Rules title={t("type.rules")} rules={textsOf([...(schema["x-validations"] ?? []), ...(schema["x-frozen"] ? [schema["x-frozen"]] : [])])} />
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
                  {!schema.properties?.[property.name] && `, ${t("type.conditional")}`}
                  {rulesOf(resolved(schema, members.get(property.name))).map((rule) => (
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

function Rules(props: { title: string; rules: string[] }) {
  if (props.rules.length === 0) return null;
  return (
    <>
      <h2>{props.title}</h2>
      <ul>
        {props.rules.map((rule, i) => (
          <li key={i}>
            <Text text={rule} />
          </li>
        ))}
      </ul>
    </>
  );
}

/** The keywords that are about the kind of a value, or about the values within it. */
const described = new Set([
  ...["title", "description", "examples", "type", "properties", "items", "additionalProperties", "required", "x-ref", "anyOf", "oneOf", "allOf", "if", "then", "else", "not"],
  ...["propertyNames", "patternProperties", "prefixItems", "contains", "contentSchema", "dependentSchemas", "unevaluatedItems", "unevaluatedProperties"],
]);

/** The rules of a value that are not about its kind. */
const rulesOf = (schema: Schema): string[] => {
  const rules = Object.entries(schema)
    .filter(([name]) => !described.has(name) && !name.startsWith("$"))
    .flatMap(([name, value]) => inWords[name]?.(value) ?? (value === true ? worded(name.replace(/^x-/, "")) : `${worded(name.replace(/^x-/, ""))}: ${flat(value)}`));
  return [...new Set(rules)];
};

type Step = string | { to: string; permission?: string; rule?: string };

const said = (code: string) => (value: unknown) => (value === false ? [] : [t(code)]);

/** What keywords say that are not clear by their names and values. */
const inWords: Record<string, (value: any) => string[]> = {
  "x-sequence": ({ start = 1, format }) => [t("type.sequence", { start }), ...(format ? [t("type.sequence.format", { format })] : [])],
  "x-transitions": (steps: Record<string, Step[]>) => Object.entries(steps).map(([from, next]) => t("type.transition", { from, to: next.map(step).join(", ") || t("type.transition.none") })),
  "x-was-values": (values: Record<string, string>) => Object.entries(values).map(([was, now]) => t("type.was", { was, now })),
  "x-validations": textsOf,
  enum: (values: unknown[]) => [t("type.enum", { values: flat(values) })],
  readOnly: said("type.readOnly"),
  writeOnly: said("type.secret"),
  uniqueItems: said("type.uniqueItems"),
  "x-secret": said("type.secret"),
  "x-personal": said("type.personal"),
  "x-derived": said("type.derived"),
  "x-immutable": said("type.immutable"),
  "x-complete": said("type.complete"),
  "x-unknown": said("type.unknown"),
  dependentRequired: (names: Record<string, string[]>) => Object.entries(names).map(([name, needed]) => t("type.needs", { name, needed })),
};

const step = (to: Step) => (typeof to === "string" ? to : [to.to, to.permission && t("type.step.permission", { permission: to.permission }), to.rule && t("type.step.rule", { rule: to.rule })].filter(Boolean).join(" "));

/** What rules say, whose texts name the place. */
function textsOf(rules: any[]): string[] {
  return rules.map((one) => String(one.text ?? one.rule ?? one.code).replaceAll("{{field}}", one.field?.slice(1) ?? t("type.field")));
}

interface Referring {
  type: string;
  path: string;
  /** Where the objects are listed that refer to one, if they can be listed, and how many there are. */
  where?: string;
  count?: number;
}

/** The types whose objects refer to those of this one, or to one of them. It reads all schemas that the caller sees, when it is asked to. */
export function ReferredBy(props: { network: string; type: string; id?: string }) {
  const { network, type, id } = props;
  const [asked, ask] = useState(false);
  const [found, show] = useState<Referring[] | null>(null);
  useEffect(() => {
    if (!asked) return;
    let wanted = true;
    Promise.all(types.value.map((one) => referringTo(network, type, one, id))).then((all) => {
      if (wanted) show(all.flat().filter(({ count }) => count !== 0));
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
          {t(id === undefined ? "type.find" : "type.find.object")}
        </button>
      ) : found === null ? (
        <p class="busy">{t("status.loading")}</p>
      ) : found.length === 0 ? (
        <p>{t(id === undefined ? "type.unreferred" : "type.unreferred.object")}</p>
      ) : (
        <ul>
          {found.map(({ type, path, where, count }) => (
            <li key={`${type} ${path}`}>
              <a href={where === undefined ? to.type(network, type) : `${to.list(network, type)}?${new URLSearchParams({ where })}`}>
                <bdi>{titleOf(type)}</bdi>
              </a>{" "}
              <bdi>{visible(path)}</bdi>
              {count !== undefined && ` (${count.toLocaleString()})`}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/** The places of a type that refer to another one, and how many objects refer to one of it there. Members of maps, and what is below a parent, cannot be listed. */
async function referringTo(network: string, target: string, { type, parent }: TypeInfo, id?: string): Promise<Referring[]> {
  const schema = await schemaOf(network, type);
  if (schema.status !== 200) return [];
  return Promise.all(
    referring(schema.body, target).map(async (path) => {
      if (id === undefined || parent || path.includes("*")) return { type, path };
      const where = format([{ property: path.replaceAll("[]", ""), operator: "=", value: id }]);
      const answer = await api.get(pathOf(type, network, undefined, { where, pageSize: "1", fields: "id" }));
      return { type, path, ...(answer.status === 200 && { where, count: answer.body.totalCount }) };
    }),
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
    for (const [name, member] of membersOf(root, inner)) walk(member, path ? `${path}.${name}` : name, depth + 1);
    if (inner.items && typeof inner.items === "object") walk(inner.items, `${path}[]`, depth + 1);
    if (inner.additionalProperties && typeof inner.additionalProperties === "object") walk(inner.additionalProperties, `${path}.*`, depth + 1);
  };
  walk(root, "", 0);
  return found;
}
