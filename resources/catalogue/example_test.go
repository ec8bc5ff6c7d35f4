package catalogue_test

import (
	"fmt"

	"marquee/engine/message"
	"marquee/resources/catalogue"
)

// A rule returns a definition with the values of its placeholders. Who receives the error
// compares it with the definition, and clients translate its text by its code.
func Example() {
	err := error(catalogue.CouponExpiry.Error(message.Params{"field": "/expiry"}))
	fmt.Println(err)
	fmt.Println(catalogue.CouponExpiry.Is(err), catalogue.SlotAmbiguous.Is(err))
	fmt.Println(catalogue.CouponExpiry.Code, catalogue.CouponExpiry.Placeholders())
	// Output:
	// The period /expiry ends after the year 9999.
	// true false
	// error.coupon.expiry.out.of.range [field]
}
