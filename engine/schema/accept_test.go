package schema

import (
	"testing"

	"marquee/engine/document"
	"marquee/schemas"
)

const acceptable = `{"bidSpecification":{"cpm":{"amount":4.5,"currency":"EUR"}},"endDate":"2030-08-31T22:00:00.000Z","labels":["summer","front"],"name":"Line item","objectives":{"IMPRESSION":500000},"order":"o7","rateLimits":[{"amount":3,"periodType":"DAYS","scope":"PER_USER","type":"IMPRESSION"}],"startDate":"2030-05-01T00:00:00.000Z","tier":"t","type":"AUCTION","userState":"APPROVED"}`

// FuzzAccepts: for every schema there is, accepts says what the library says.
func FuzzAccepts(f *testing.F) {
	registry, err := Load(Source{FS: schemas.FS})
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{acceptable, `{}`, `{"name":"","type":"SPONSORSHIP","share":1.5,"labels":[1],"objectives":{}}`, `{"name":null,"order":{"id":"x"}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		object, err := document.DecodeObject(data, document.Limits{Depth: 50})
		if err != nil {
			return
		}
		for _, typ := range registry.Types() {
			if is, want := accepts(typ.rules.schema, object), typ.rules.schema.Validate(object) == nil; is != want {
				t.Errorf("%s: %s: %t, the library says %t", typ.Name, data, is, want)
			}
			for i, w := range typ.Warnings {
				if is, want := accepts(w.when, object), w.when.Validate(object) == nil; is != want {
					t.Errorf("%s: warning %d: %s: %t, the library says %t", typ.Name, i, data, is, want)
				}
			}
		}
	})
}

func BenchmarkAccepts(b *testing.B) {
	registry, err := Load(Source{FS: schemas.FS})
	if err != nil {
		b.Fatal(err)
	}
	t, _ := registry.Type("lineitems")
	object, err := document.DecodeObject([]byte(acceptable), document.Limits{Depth: 50})
	if err != nil {
		b.Fatal(err)
	}
	var a acceptance
	if !a.valid(t.rules.schema, object) || a.unknown {
		b.Error("the library is asked")
	}
	b.Run("accepts", func(b *testing.B) {
		for range b.N {
			accepts(t.rules.schema, object)
		}
	})
	b.Run("library", func(b *testing.B) {
		for range b.N {
			t.rules.schema.Validate(object)
		}
	})
}
