import { authenticate, listOrders, putOrders, uploadAssets } from "./marquee";
import { client } from "./marquee/client.gen";

async function main() {
  client.setConfig({ baseUrl: process.env.MARQUEE_URL });
  const signedIn = await authenticate({
    body: { grant_type: "password", username: "admin", password: process.env.MARQUEE_PASSWORD },
  });
  if (!signedIn.data) throw new Error(JSON.stringify(signedIn.error));
  const token = signedIn.data.access_token;
  client.setConfig({ auth: () => token });
  const query = { context: "main" };

  const spring = { path: { id: "spring" }, query };
  const created = await putOrders({ ...spring, body: { name: "Spring" } });
  if (!created.data) throw new Error(JSON.stringify(created.error));
  console.log("created", created.data.id, created.data.name);

  const page = await listOrders({ query: { ...query, orderBy: "name", pageSize: 10 } });
  if (!page.data) throw new Error(JSON.stringify(page.error));
  for (const order of page.data.results) console.log("listed", order.id, order.name);

  const etag = created.response?.headers.get("ETag") ?? "";
  const updated = await putOrders({ ...spring, headers: { "If-Match": etag }, body: { name: "Spring 2" } });
  if (!updated.data) throw new Error(JSON.stringify(updated.error));
  console.log("updated", updated.data.id, updated.data.name);

  const late = await putOrders({ ...spring, headers: { "If-Match": etag }, body: { name: "Spring 3" } });
  console.log("refused", late.response?.status, late.error?.messages[0].code);

  const invalid = await putOrders({ ...spring, body: { advertiser: { id: "nobody" } } });
  for (const message of invalid.error?.messages ?? []) {
    console.log("refused", invalid.response?.status, message.code, message.params.field);
  }

  const image = new Blob(['<svg xmlns="http://www.w3.org/2000/svg" width="10" height="20"/>'], { type: "image/svg+xml" });
  const asset = await uploadAssets({ path: { creative: "banner" }, query, body: { file: image, id: "logo" } });
  if (!asset.data) throw new Error(JSON.stringify(asset.error));
  console.log("uploaded", asset.data.id, asset.data.width, asset.data.height);
}

main();
