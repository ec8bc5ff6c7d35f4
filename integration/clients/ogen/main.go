package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	ht "github.com/ogen-go/ogen/http"
	"github.com/ogen-go/ogen/ogenerrors"

	"example.com/program/marquee"
)

// tokens has the access token, once there is one.
type tokens struct{ access string }

func (t *tokens) Bearer(context.Context, marquee.OperationName) (marquee.Bearer, error) {
	return marquee.Bearer{Token: t.access}, nil
}

func (t *tokens) Password(context.Context, marquee.OperationName) (marquee.Password, error) {
	return marquee.Password{}, ogenerrors.ErrSkipClientSecurity
}

func main() {
	ctx := context.Background()
	var held tokens
	client, err := marquee.NewClient(os.Getenv("MARQUEE_URL"), &held)
	check(err)

	signedIn, err := client.Authenticate(ctx, &marquee.AuthenticateApplicationJSON{
		GrantType: marquee.TokenRequestGrantTypePassword,
		Username:  marquee.NewOptString("admin"),
		Password:  marquee.NewOptString(os.Getenv("MARQUEE_PASSWORD")),
	}, marquee.AuthenticateParams{})
	check(err)
	held.access = is[*marquee.TokenResponse](signedIn).AccessToken

	spring := marquee.PutOrdersParams{ID: "spring", Context: "main"}
	put := func(input marquee.OrdersInput) marquee.PutOrdersRes {
		response, err := client.PutOrders(ctx, &input, spring)
		check(err)
		return response
	}
	created := is[*marquee.PutOrdersCreated](put(marquee.OrdersInput{Name: marquee.NewOptString("Spring")}))
	fmt.Println("created", created.Response.ID.Value, created.Response.Name.Value)

	listed, err := client.ListOrders(ctx, marquee.ListOrdersParams{
		Context:  "main",
		OrderBy:  marquee.NewOptListOrdersOrderBy(marquee.ListOrdersOrderByName),
		PageSize: marquee.NewOptInt(10),
	})
	check(err)
	for _, order := range is[*marquee.OrdersPageHeaders](listed).Response.Results {
		fmt.Println("listed", order.ID.Value, order.Name.Value)
	}

	spring.IfMatch = created.ETag
	updated := is[*marquee.PutOrdersOK](put(marquee.OrdersInput{Name: marquee.NewOptString("Spring 2")}))
	fmt.Println("updated", updated.Response.ID.Value, updated.Response.Name.Value)

	late := is[*marquee.WriteRefusedStatusCodeWithHeaders](put(marquee.OrdersInput{Name: marquee.NewOptString("Spring 3")}))
	fmt.Println("refused", late.StatusCode, late.Response.Messages[0].Code)

	spring.IfMatch.Reset()
	nobody := marquee.NewReferenceInput1ReferenceInput(marquee.ReferenceInput1{ID: "nobody"})
	invalid := is[*marquee.Problem](put(marquee.OrdersInput{Advertiser: marquee.NewOptNilReferenceInput(nobody)}))
	for _, message := range invalid.Messages {
		fmt.Println("refused", invalid.Status, message.Code, strings.Trim(string(message.Params["field"]), `"`))
	}

	image := `<svg xmlns="http://www.w3.org/2000/svg" width="10" height="20"/>`
	uploaded, err := client.UploadAssets(ctx, &marquee.UploadAssetsReq{
		ID:   marquee.NewOptString("logo"),
		File: marquee.NewOptMultipartFile(ht.MultipartFile{Name: "logo.svg", File: strings.NewReader(image), Size: int64(len(image))}),
	}, marquee.UploadAssetsParams{Creative: "banner", Context: "main"})
	check(err)
	asset := is[*marquee.UploadAssetsCreatedHeaders](uploaded).Response
	fmt.Println("uploaded", asset.ID.Value, asset.Width.Value, asset.Height.Value)
}

// is returns a response of the expected type.
func is[T any](response any) T {
	expected, ok := response.(T)
	if !ok {
		log.Fatalf("%T: %+v", response, response)
	}
	return expected
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
