import { isAxiosError } from "axios";
import { AssetApi, AuthenticationApi, Configuration, ListOrdersOrderByEnum, OrderApi, Problem, TokenRequestGrantTypeEnum } from "./marquee";

// problem returns what a request is refused with.
async function problem(request: Promise<unknown>): Promise<Problem> {
  try {
    await request;
  } catch (e) {
    if (isAxiosError<Problem>(e) && e.response) return e.response.data;
    throw e;
  }
  throw new Error("the request is not refused");
}

async function main() {
  const basePath = process.env.MARQUEE_URL;
  const signedIn = await new AuthenticationApi(new Configuration({ basePath })).authenticate({
    tokenRequest: { grant_type: TokenRequestGrantTypeEnum.Password, username: "admin", password: process.env.MARQUEE_PASSWORD },
  });
  const configuration = new Configuration({ basePath, accessToken: signedIn.data.access_token });
  const orders = new OrderApi(configuration);
  const context = "main";

  const created = await orders.putOrders({ id: "spring", context, ordersInput: { name: "Spring" } });
  console.log("created", created.data.id, created.data.name);

  const page = await orders.listOrders({ context, orderBy: ListOrdersOrderByEnum.Name, pageSize: 10 });
  for (const order of page.data.results) console.log("listed", order.id, order.name);

  const ifMatch: string = created.headers.etag;
  const updated = await orders.putOrders({ id: "spring", context, ifMatch, ordersInput: { name: "Spring 2" } });
  console.log("updated", updated.data.id, updated.data.name);

  const late = await problem(orders.putOrders({ id: "spring", context, ifMatch, ordersInput: { name: "Spring 3" } }));
  console.log("refused", late.status, late.messages[0].code);

  const invalid = await problem(orders.putOrders({ id: "spring", context, ordersInput: { advertiser: { id: "nobody" } } }));
  for (const message of invalid.messages) console.log("refused", invalid.status, message.code, message.params.field);

  const file = new File(['<svg xmlns="http://www.w3.org/2000/svg" width="10" height="20"/>'], "logo.svg", { type: "image/svg+xml" });
  const asset = await new AssetApi(configuration).uploadAssets({ creative: "banner", context, file, id: "logo" });
  console.log("uploaded", asset.data.id, asset.data.width, asset.data.height);
}

main();
