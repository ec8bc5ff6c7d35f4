import { useEffect, useId, useState } from "preact/hooks";
import { api, pathOf } from "./api";
import { labelOf, schemaOf, type Named } from "./schema";

/** Chooses an object of a type, by words that the server searches for or by its id. */
export function Picker(props: { label: string; network: string; type: string; value: string; onPick: (id: string) => void }) {
  const { network, type } = props;
  const id = useId();
  const [typed, type_] = useState("");
  const [found, show] = useState<Named[]>([]);
  useEffect(() => {
    let wanted = true;
    const wait = setTimeout(async () => {
      const schema = await schemaOf(network, type);
      if (schema.status !== 200 || !wanted) return;
      const label = labelOf(schema.body);
      const searches = (schema.body["x-resource"]?.search ?? []).length > 0;
      const answer = await api.get(pathOf(type, network, undefined, { fields: `id,${label}`, pageSize: "20", count: "false", ...(searches && typed.trim() && { q: typed }) }));
      if (wanted && answer.status === 200) show(answer.body.results.map((one: any) => ({ id: one.id, name: String(one[label] ?? "") })));
    }, 200);
    return () => {
      wanted = false;
      clearTimeout(wait);
    };
  }, [network, type, typed]);
  return (
    <label class="picker">
      <span>{props.label}</span>
      <input list={id} defaultValue={props.value} autocomplete="off" onInput={(event) => type_(event.currentTarget.value)} onChange={(event) => props.onPick(event.currentTarget.value.trim())} />
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
