package access_test

import (
	"fmt"

	"marquee/engine/access"
	"marquee/engine/query"
	"marquee/engine/schema"
)

// byWard is an Access by the wards that a caller's roles name. Its other methods are
// left out.
type byWard struct{ access.Access }

func (byWard) Visible(caller *access.Caller, _ *schema.Type, network string) query.Expr {
	grant := caller.Grants[network]
	if caller.System || grant.Network {
		return query.All
	}
	public := query.Field{Kind: query.Boolean, Path: []query.Step{{Name: "public"}}}
	visible := query.Or{query.Compare{Field: public, Op: query.Equal, Value: true}}
	for _, ward := range grant.Bound["wards"] {
		visible = append(visible, query.Compare{Field: query.Field{System: query.ID, Kind: query.String}, Op: query.Equal, Value: ward})
	}
	return visible
}

// Visibility is a condition, which lists add to their queries. Of objects whose ids are
// known, the store is only asked about those that the ids do not decide.
func ExampleAccess() {
	nurse := &access.Caller{User: "ann", Grants: map[string]access.Grant{"house": {Team: true, Bound: map[string][]string{"wards": {"east"}}}}}
	for _, caller := range []*access.Caller{nurse, {System: true}} {
		visible := byWard{}.Visible(caller, nil, "house")
		meet, open := access.DecideByID([]string{"east", "west"}, visible)
		fmt.Println("visible:", meet, "to be looked up:", open)
	}
	// Output:
	// visible: [east] to be looked up: [west]
	// visible: [east west] to be looked up: []
}
