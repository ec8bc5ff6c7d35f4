import java.nio.file.Files;
import java.util.List;
import java.util.Map;

import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.ApiResponse;
import org.openapitools.client.api.AssetApi;
import org.openapitools.client.api.AuthenticationApi;
import org.openapitools.client.api.OrderApi;
import org.openapitools.client.auth.HttpBearerAuth;
import org.openapitools.client.model.*;

public class Main {
    public static void main(String[] args) throws Exception {
        ApiClient client = new ApiClient();
        client.setBasePath(System.getenv("MARQUEE_URL"));
        TokenResponse tokens = new AuthenticationApi(client).authenticate(new TokenRequest()
            .grantType(TokenRequest.GrantTypeEnum.PASSWORD).username("admin").password(System.getenv("MARQUEE_PASSWORD")), null);
        ((HttpBearerAuth) client.getAuthentication("bearer")).setBearerToken(tokens.getAccessToken());
        OrderApi orders = new OrderApi(client);

        ApiResponse<Orders> created = orders.putOrdersWithHttpInfo("spring", "main", new OrdersInput().name("Spring"), null, null, null, null, null);
        System.out.println("created " + created.getData().getId() + " " + created.getData().getName());

        OrdersPage page = orders.listOrders("main", null, null, 10, "name", null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null);
        for (Orders order : page.getResults()) {
            System.out.println("listed " + order.getId() + " " + order.getName());
        }

        String etag = header(created.getHeaders(), "ETag");
        Orders updated = orders.putOrders("spring", "main", new OrdersInput().name("Spring 2"), null, null, null, etag, null);
        System.out.println("updated " + updated.getId() + " " + updated.getName());

        try {
            orders.putOrders("spring", "main", new OrdersInput().name("Spring 3"), null, null, null, etag, null);
        } catch (ApiException e) {
            System.out.println("refused " + e.getCode() + " " + Problem.fromJson(e.getResponseBody()).getMessages().get(0).getCode());
        }

        try {
            orders.putOrders("spring", "main", new OrdersInput().advertiser(new ReferenceInput("nobody")), null, null, null, null, null);
        } catch (ApiException e) {
            for (Message message : Problem.fromJson(e.getResponseBody()).getMessages()) {
                System.out.println("refused " + e.getCode() + " " + message.getCode() + " " + message.getParams().get("field"));
            }
        }

        var file = Files.createTempFile("logo", ".svg");
        Files.writeString(file, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"10\" height=\"20\"/>");
        Assets asset = new AssetApi(client).uploadAssets("banner", "main", null, null, null, null, null, null, file.toFile(), "logo");
        System.out.println("uploaded " + asset.getId() + " " + asset.getWidth() + " " + asset.getHeight());
        System.exit(0); // OkHttp keeps threads
    }

    static String header(Map<String, List<String>> headers, String name) {
        for (var header : headers.entrySet()) {
            if (header.getKey().equalsIgnoreCase(name)) return header.getValue().get(0);
        }
        return null;
    }
}
