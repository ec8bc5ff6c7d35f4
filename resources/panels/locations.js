// The search of the gazetteer, for the places of a targeting.

/** @type {NonNullable<import("../../console/web/src/module").Module["lookups"]>[string]} */
export async function locations(text, console) {
  const answer = await console.api.get(`/api/v1/location?${new URLSearchParams({ q: text, pageSize: "20" })}`);
  if (answer.status !== 200) throw new Error(console.explain(answer));
  return answer.body.searchResults.map((/** @type {any} */ one) => ({ id: one.id, name: one.name, about: one.context }));
}
