package integration

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
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
func TestCouponsFrozen(t *testing.T) { eachStore(t, testCouponsFrozen) }

func testCouponsFrozen(t *testing.T, fresh newStore) {
	c := converse(t, fresh)
	c.send("POST", "/api/v1/products/p?context=main", `{"name": "P"}`, 201, "")
	kind, err := c.s.engine.Type("coupons")
	if err != nil {
		t.Fatal(err)
	}
	other := members(t, otherCoupon)
	for _, status := range []string{"PUBLISHED", "STOPPED"} {
		path := coupons + status + "?context=main"
		c.send("POST", path, newCoupon, 201, "")
		c.send("POST", path, `{"couponStatus": "`+status+`"}`, 200, "")
		var frozen []string
		for name, member := range kind.Shape.Properties {
			if member.ReadOnly || name == "couponStatus" || name == "labels" {
				continue
			}
			if other[name] == nil {
				t.Fatalf("no other value of %s is known", name)
			}
			want := "error.coupon.published /" + name
			c.refused(path, `{"`+name+`": `+string(other[name])+`}`, want)
			frozen = append(frozen, want)
		}
		c.refused(path, otherCoupon, frozen...)
		c.send("POST", path, `{"labels": [], "objectState": "INACTIVE"}`, 200, `{"labels": [], "objectState": "INACTIVE"}`)
		// What is sent as it is stored is no change.
		c.send("POST", path, strings.Replace(newCoupon, "PENDING", status, 1), 200, `{"labels": ["spring"]}`)
	}
}

// TestCouponsRequire leaves out each property that is required, and removes it
// from a coupon that has it.
func TestCouponsRequire(t *testing.T) { eachStore(t, testCouponsRequire) }

func testCouponsRequire(t *testing.T, fresh newStore) {
	c := converse(t, fresh)
	whole := coupons + "whole?context=main"
	c.send("POST", "/api/v1/products/p?context=main", `{"name": "P"}`, 201, "")
	c.send("POST", whole, newCoupon, 201, "")
	for _, name := range []string{"name", "description", "code", "expiry", "type", "discountMonetary", "validFrom", "validTo", "oneTimeValidity", "couponEndDateType", "claimableAts", "couponStatus"} {
		object := members(t, newCoupon)
		delete(object, name)
		without, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"error.property.required /" + name}
		c.refused(coupons+"new?context=main", string(without), want...)
		if name == "couponStatus" { // nothing follows PENDING but the other two
			want = append(want, "error.transition.forbidden /couponStatus")
		}
		c.refused(whole, `{"`+name+`": null}`, want...)
	}
	for _, name := range []string{"products", "labels", "discountPercentage"} {
		c.send("POST", whole, `{"`+name+`": null}`, 200, `{"`+name+`": "<absent>"}`)
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
func (c *conversation) refused(path, body string, want ...string) {
	c.Helper()
	problem, _ := c.send("POST", path, body, 422, "").json().(map[string]any)
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
