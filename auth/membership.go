package auth

import (
	"context"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/query"
	"marquee/engine/store"
)

// byMember finds the teams of a user.
var byMember = query.Field{Term: "users", Path: []query.Step{{Name: "users", Array: true}}}

// withTeams adds the ACTIVE teams of a user in a network to a grant, and what they name.
func withTeams(ctx context.Context, s store.Snapshot, user, network string, grant *engine.Grant) error {
	active := query.Compare{Field: query.Field{System: query.State}, Op: query.Equal, Value: "ACTIVE"}
	q := query.Query{Collection: "teams", Network: network, Order: store.OldestFirst,
		Where: query.And{query.Compare{Field: byMember, Op: query.Equal, Value: user}, active}}
	grant.Bound = map[string][]string{}
	return store.FindAll(ctx, s, q, maxTeams, func(r *store.Record) error {
		grant.Teams = append(grant.Teams, r.ID)
		bound, err := boundBy(r.Document)
		for property, ids := range bound {
			room := max(0, maxBound-len(grant.Bound[property]))
			grant.Bound[property] = append(grant.Bound[property], ids[:min(len(ids), room)]...)
		}
		return err
	})
}

// boundBy returns the lists of a stored role or team that may name objects, by property.
func boundBy(doc []byte) (map[string][]string, error) {
	object, err := document.DecodeObject(doc, document.Limits{Depth: 1000})
	if err != nil {
		return nil, err
	}
	bound := map[string][]string{}
	for name, value := range object {
		switch name {
		case "users", "labels", "permissions":
			continue
		}
		if ids := texts(value); len(ids) > 0 {
			bound[name] = ids[:min(len(ids), maxBound)]
		}
	}
	return bound, nil
}
