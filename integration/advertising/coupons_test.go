package advertising

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"marquee/integration/service"
)

const coupons = "/api/v1/coupons/"

// newCoupon has every property that a client sends.
const newCoupon = `{"name": "Welcome", "description": "Ten euros", "code": "TEN", "expiry": "P30D", "type": "MONETARY", "discountMonetary": {"currency": "EUR", "amount": 10},
	"discountPercentage": 5, "products": ["p"], "labels": ["spring"], "couponStatus": "PENDING", "validFrom": "2031-01-01T00:00:00Z", "validTo": "2031-12-31T00:00:00Z",
	"oneTimeValidity": true, "couponEndDateType": "EXPIRY", "claimableAts": ["SIGN_UP"]}`

// otherCoupon has another value for each of them but couponStatus.
const otherCoupon = `{"name": "Goodbye", "description": "Ten percent", "code": "PERCENT", "expiry": "P31D", "type": "PERCENTAGE", "discountMonetary": {"currency": "EUR", "amount": 11},
	"discountPercentage": 6, "products": [], "labels": [], "validFrom": "2031-01-02T00:00:00Z", "validTo": "2032-12-31T00:00:00Z",
	"oneTimeValidity": false, "couponEndDateType": "VALID_TO", "claimableAts": ["SIGN_UP", "CAMPAIGN_CREATION"]}`

// TestCouponsFrozen changes each property that the schema has, so that one that
// is added to it must be frozen, or named here.
func TestCouponsFrozen(t *testing.T) { service.EachStore(t, testCouponsFrozen) }

func testCouponsFrozen(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	c.Send("POST", "/api/v1/products/p?context=main", `{"name": "P"}`, 201, "")
	kind, err := c.Service.Engine.Type("coupons")
	if err != nil {
		t.Fatal(err)
	}
	other := members(t, otherCoupon)
	for _, status := range []string{"PUBLISHED", "STOPPED"} {
		path := coupons + status + "?context=main"
		c.Send("POST", path, newCoupon, 201, "")
		c.Send("POST", path, `{"couponStatus": "`+status+`"}`, 200, "")
		var frozen []string
		for name, member := range kind.Shape.Properties {
			if member.ReadOnly || name == "couponStatus" || name == "labels" {
				continue
			}
			if other[name] == nil {
				t.Fatalf("no other value of %s is known", name)
			}
			want := "error.coupon.published /" + name
			refused(c, path, `{"`+name+`": `+string(other[name])+`}`, want)
			frozen = append(frozen, want)
		}
		refused(c, path, otherCoupon, frozen...)
		c.Send("POST", path, `{"labels": [], "objectState": "INACTIVE"}`, 200, `{"labels": [], "objectState": "INACTIVE"}`)
		// What is sent as it is stored is no change.
		c.Send("POST", path, strings.Replace(newCoupon, "PENDING", status, 1), 200, `{"labels": ["spring"]}`)
	}
}

// TestCouponsRequire leaves out each property that is required, and removes it
// from a coupon that has it.
func TestCouponsRequire(t *testing.T) { service.EachStore(t, testCouponsRequire) }

func testCouponsRequire(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	whole := coupons + "whole?context=main"
	c.Send("POST", "/api/v1/products/p?context=main", `{"name": "P"}`, 201, "")
	c.Send("POST", whole, newCoupon, 201, "")
	for _, name := range []string{"name", "description", "code", "expiry", "type", "discountMonetary", "validFrom", "validTo", "oneTimeValidity", "couponEndDateType", "claimableAts", "couponStatus"} {
		object := members(t, newCoupon)
		delete(object, name)
		without, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"error.property.required /" + name}
		refused(c, coupons+"new?context=main", string(without), want...)
		if name == "couponStatus" { // nothing follows PENDING but the other two
			want = append(want, "error.transition.forbidden /couponStatus")
		}
		refused(c, whole, `{"`+name+`": null}`, want...)
	}
	for _, name := range []string{"products", "labels", "discountPercentage"} {
		c.Send("POST", whole, `{"`+name+`": null}`, 200, `{"`+name+`": "<absent>"}`)
	}
}

func members(t *testing.T, object string) map[string]json.RawMessage {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(object), &members); err != nil {
		t.Fatal(err)
	}
	return members
}

// refused posts what must be refused, with these codes and fields and no
// others.
func refused(c *service.Conversation, path, body string, want ...string) {
	c.Helper()
	problem, _ := c.Send("POST", path, body, 422, "").JSON().(map[string]any)
	messages, _ := problem["messages"].([]any)
	var got []string
	for _, entry := range messages {
		m, _ := entry.(map[string]any)
		params, _ := m["params"].(map[string]any)
		code, _ := m["code"].(string)
		field, _ := params["field"].(string)
		got = append(got, code+" "+field)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		c.Errorf("%s %s: refused with %q, want %q", path, body, got, want)
	}
}
