/** The page of an object, or of a new one. */
export function ObjectPage(props: { type: string; network: string; id?: string }) {
  return <h1>{props.id ?? props.type}</h1>;
}
