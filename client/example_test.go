package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"marquee/client"
)

func Example() {
	ctx := context.Background()
	c, err := client.New("http://127.0.0.1:8080", client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if err := c.SignIn(ctx, "admin", os.Getenv("PASSWORD")); err != nil {
		log.Fatal(err)
	}
	type Order struct {
		ID   string `json:"id,omitempty"`
		Name string `json:"name,omitempty"`
	}
	orders := client.Of[Order](c.Network("main"), "orders")
	if _, err := orders.Save(ctx, "spring", Order{Name: "Spring"}); err != nil {
		log.Fatal(err)
	}
	for order, err := range orders.All(ctx, client.List{Where: "createTime>3 days ago", OrderBy: "name"}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(order.ID, order.Name)
	}
}

func ExampleObjects_Update() {
	type LineItem struct {
		Labels []string `json:"labels"`
	}
	ctx := context.Background()
	var network *client.Network // as Client.Network returns it
	items := client.Of[LineItem](network, "lineitems")
	_, err := items.Update(ctx, "teaser", func(current LineItem) (any, error) {
		return LineItem{Labels: append(current.Labels, "summer")}, nil
	})
	if err != nil {
		log.Fatal(err)
	}
}

func ExampleError() {
	var network *client.Network // as Client.Network returns it
	_, err := network.Batch(context.Background(), []client.Operation{
		{Type: "orders", Object: map[string]any{"id": "spring", "advertiser": "nobody"}},
	})
	var problem *client.Error
	if errors.As(err, &problem) {
		for _, m := range problem.Messages {
			fmt.Println(m.Code, m.Field(), m)
		}
	}
}

func ExampleObjects_SaveFile() {
	type Asset struct {
		CDNID string `json:"cdnId"`
	}
	file, err := os.Open("banner.png")
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	var network *client.Network // as Client.Network returns it
	asset, err := client.Of[Asset](network, "assets/summer").SaveFile(context.Background(), "banner", client.File{Name: "banner.png", Content: file})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(asset.CDNID)
}
