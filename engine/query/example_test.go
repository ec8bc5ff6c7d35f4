package query_test

import (
	"fmt"
	"time"

	"marquee/engine/message"
	"marquee/engine/query"
)

// A condition that a client has sent becomes an expression, which the stores compile.
func ExampleParseWhere() {
	fields := func(parameter, name string) (query.Field, error) {
		if name != "name" {
			return query.Field{}, message.FieldNotQueryable.Error(message.Params{"parameter": parameter, "value": name, "type": "wards"})
		}
		return query.Field{Kind: query.String, Path: []query.Step{{Name: "name"}}}, nil
	}
	now := time.Date(2031, 3, 1, 0, 0, 0, 0, time.UTC)
	for _, text := range []string{"name=North", "name=North;name!=South", "floor=1", "name"} {
		condition, err := query.ParseWhere(text, fields, now)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(len(query.Conjuncts(condition)))
	}
	// Output:
	// 1
	// 2
	// floor of wards cannot be used in a query.
	// where cannot be read at character 5: expected an operator.
}
