package resources_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"marquee"
	"marquee/engine/schema"
	"marquee/resources"
)

// The application is served like any other. Its rules hold for Go code, too: here a
// coupon that can be used for a month from a date on.
func ExampleService_Application() {
	folder, err := os.MkdirTemp("", "marquee-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	server, err := marquee.New(marquee.Options{Folder: folder, Application: resources.New().Application(),
		First: marquee.First{Network: "main", Password: "correct horse battery"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()

	ctx := context.Background()
	if _, err := server.Write(ctx, "main", "coupons", map[string]any{
		"id": "spring", "name": "Spring", "description": "Ten percent", "code": "SPRING", "type": "PERCENTAGE", "discountPercentage": 10,
		"couponStatus": "PENDING", "oneTimeValidity": true, "claimableAts": []any{"SIGN_UP"},
		"validFrom": "2030-03-01T00:00:00Z", "validTo": "2030-06-01T00:00:00Z", "couponEndDateType": "EXPIRY", "expiry": "P1M",
	}); err != nil {
		fmt.Println(err)
	}
	coupon, err := server.Read(ctx, "main", "coupons", "spring")
	fmt.Println(coupon["usableUntil"], err)
	// Output: 2030-04-01T00:00:00.000Z <nil>
}

// A folder can add types to those of the application, and refer to these.
func TestLoadSchemas(t *testing.T) {
	own, err := resources.LoadSchemas()
	if err != nil {
		t.Fatal(err)
	}
	venues := fstest.MapFS{"venues.json": {Data: []byte(`{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title": "Venue",
		"x-resource": {"path": "venues"},
		"type": "object",
		"properties": {"site": {"x-ref": "sites"}}
	}`)}}
	both, err := resources.LoadSchemas(schema.Source{Name: "venues", FS: venues})
	if err != nil {
		t.Fatal(err)
	}
	venue, served := both.Type("venues")
	if !served || len(both.Types()) != len(own.Types())+1 {
		t.Fatalf("%d types are loaded, without the folder %d", len(both.Types()), len(own.Types()))
	}
	if venue.Permission != resources.ManageBusiness {
		t.Errorf("venues are written with the permission %q, want %q", venue.Permission, resources.ManageBusiness)
	}
}

// A rule for a type that no schema defines would never run.
func TestRulesHaveTypes(t *testing.T) {
	app := resources.New().Application()
	types, err := resources.LoadSchemas()
	if err != nil {
		t.Fatal(err)
	}
	named := slices.Collect(maps.Keys(app.Hooks))
	for _, hooks := range app.Hooks {
		for _, dependant := range hooks.Dependants {
			named = append(named, dependant.Type)
		}
	}
	for _, due := range app.Due {
		named = append(named, due.Type)
	}
	named = slices.AppendSeq(named, maps.Keys(app.Verifiers))
	for _, name := range named {
		if _, served := types.Type(name); !served {
			t.Errorf("there are rules for %s, which is no type", name)
		}
	}
	if len(named) < 10 {
		t.Errorf("only the types %v have rules", named)
	}
}

// The demonstration data moves with the present, and refers to the first network.
func TestDemo(t *testing.T) {
	demo := func(now time.Time) []marquee.DemoStep {
		t.Helper()
		types, err := resources.LoadSchemas()
		if err != nil {
			t.Fatal(err)
		}
		steps, err := resources.Demo(marquee.DemoOptions{Types: types, Password: "correct horse battery", Now: now,
			First: marquee.First{Network: "house", UserID: "anna", RoleID: "administrator"}})
		if err != nil {
			t.Fatal(err)
		}
		return steps
	}
	now := time.Date(2030, 5, 17, 14, 30, 0, 0, time.UTC)
	today, later := demo(now), demo(now.AddDate(0, 0, 10))
	for i, step := range today {
		if step.Time.After(now) {
			t.Errorf("step %d is written at %s, in the future", i, step.Time)
		}
		if moved := later[i].Time.Sub(step.Time); moved != 10*24*time.Hour {
			t.Errorf("ten days later, step %d is written %s later", i, moved)
		}
		for _, op := range step.Operations {
			if text := fmt.Sprint(op.Object); strings.Contains(text, ":@") || strings.Contains(text, "[@") {
				t.Errorf("step %d has a placeholder that is not replaced: %s", i, text)
			}
		}
	}
	if len(today) < 10 {
		t.Errorf("there are %d steps", len(today))
	}
}
