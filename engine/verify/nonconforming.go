package verify

import (
	"context"
	"slices"

	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// Nonconforming is an object with a value that a write would refuse today.
type Nonconforming struct {
	Type            *schema.Type
	Network, ID     string
	Property, Value string
	Form            string
	// Others are objects with a value of the same form.
	Others []string
}

// CheckForms yields the stored objects with values that do not conform to the form of
// their property, or share it with other objects.
func CheckForms(ctx context.Context, e *catalog.Catalog, yield func(Nonconforming) error) error {
	for _, t := range e.Registry().Types() {
		for _, f := range t.UniqueForms {
			if err := checkForm(ctx, e, t, f, yield); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkForm(ctx context.Context, e *catalog.Catalog, t *schema.Type, f schema.UniqueForm, yield func(Nonconforming) error) error {
	var last store.Key
	for {
		var page []Nonconforming
		next := last
		err := e.Store.Read(ctx, func(s store.Snapshot) error {
			page, next = nil, last
			claims := map[store.Key][]store.Claim{}
			var all []store.Claim
			err := s.Scan(ctx, t.Name, last, store.FindPage, func(r *store.Record) error {
				next = r.Key
				object, err := document.DecodeObject(r.Document, document.Limits{Depth: 1000})
				value := catalog.TextAt(object, f.Property)
				if err != nil || value == "" {
					return err
				}
				page = append(page, Nonconforming{Type: t, Network: r.Network, ID: r.ID, Property: f.Property, Value: value, Form: f.Form})
				claims[r.Key] = catalog.FormClaims(t.Name, r.Network, f, value)
				all = append(all, claims[r.Key]...)
				return nil
			})
			if err != nil {
				return err
			}
			owners, err := s.Claims(ctx, all)
			page = slices.DeleteFunc(page, func(n Nonconforming) bool {
				shared := claims[store.Key{Network: n.Network, ID: n.ID}]
				return shared != nil && len(catalog.OthersOf(shared, owners, n.ID)) == 0
			})
			for i := range page {
				page[i].Others = catalog.OthersOf(claims[store.Key{Network: page[i].Network, ID: page[i].ID}], owners, page[i].ID)
			}
			return err
		})
		if err != nil || next == last {
			return err
		}
		for _, n := range page {
			if err := yield(n); err != nil {
				return err
			}
		}
		last = next
	}
}
