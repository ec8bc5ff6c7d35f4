package asset_test

import (
	"fmt"

	"marquee/engine"
	"marquee/resources/asset"
	"marquee/resources/asset/assettest"
	"marquee/resources/catalogue"
)

// The type and the size of an asset come from the content of its file, whatever its name
// says. Files of other types are refused.
func ExampleAttach() {
	var op engine.Operation
	err := asset.Attach(&op, "banner.gif", assettest.PNG(300, 250))
	fmt.Println(op.Set["mimeType"], op.Set["width"], op.Set["height"], err)

	err = asset.Attach(&op, "banner.gif", []byte("MZ, a program"))
	fmt.Println(catalogue.AssetType.Is(err))
	// Output:
	// IMAGE_PNG 300 250 <nil>
	// true
}
