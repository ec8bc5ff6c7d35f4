import { useEffect, useId, useState } from "preact/hooks";
import { api, pathOf } from "./api";
import { useSchema } from "./hooks";
import { labelOf, propertiesOf, types, type Named } from "./schema";

interface Props {
  label: string;
  network: string;
  type: string;
  value: string;
  onPick: (id: string) => void;
}

/** Chooses an object of a type, by words that the server searches for or by its id. One below a parent is looked for once the parent is chosen. */
export function Picker(props: Props) {
  const [used, use] = useState(false);
  const schema = useSchema(props.network, props.type, used || !!types.value.find(({ type }) => type === props.type)?.parent);
  const [below, look] = useState("");
  const resource = schema?.body?.["x-resource"];
  const parent = resource?.parent && propertiesOf(schema!.body).get(resource.parent);
  const path = !resource || (parent && !below) ? null : parent ? `${props.type}/${encodeURIComponent(below)}` : props.type;
  return (
    <>
      {parent?.target && <Picker label={parent.title} network={props.network} type={parent.target} value={below} onPick={look} />}
      <Choice {...props} onUse={() => use(true)} used={used} path={path} named={resource ? labelOf(schema!.body) : "id"} searches={(resource?.search ?? []).length > 0} />
    </>
  );
}

/** A field with the objects of a path, if that is known, as suggestions once somebody uses it. */
function Choice(props: Props & { onUse: () => void; used: boolean; path: string | null; named: string; searches: boolean }) {
  const { network, used, path, named, searches } = props;
  const id = useId();
  const [typed, type] = useState("");
  const [found, show] = useState<Named[]>([]);
  useEffect(() => {
    if (!used || path === null) return;
    let wanted = true;
    const wait = setTimeout(async () => {
      const answer = await api.get(pathOf(path, network, undefined, { fields: `id,${named}`, pageSize: "20", count: "false", ...(searches && typed.trim() && { q: typed }) }));
      if (wanted && answer.status === 200) show(answer.body.results.map((one: any) => ({ id: one.id, name: String(one[named] ?? "") })));
    }, 200);
    return () => {
      wanted = false;
      clearTimeout(wait);
    };
  }, [network, used, path, named, searches, typed]);
  return (
    <label class="picker">
      <span>{props.label}</span>
      <input list={id} defaultValue={props.value} autocomplete="off" onFocus={props.onUse} onInput={(event) => type(event.currentTarget.value)} onChange={(event) => props.onPick(event.currentTarget.value.trim())} />
      <datalist id={id}>
        {found.map((one) => (
          <option key={one.id} value={one.id}>
            {one.name}
          </option>
        ))}
      </datalist>
    </label>
  );
}
