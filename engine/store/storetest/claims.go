package storetest

import (
	"errors"
	"fmt"
	"maps"
	"testing"

	"marquee/engine/store"
)

func claim(value string) store.Claim {
	return store.Claim{Collection: things, Network: net, Property: "name", Value: value}
}

// testClaims proves that a unique value has one owner.
func testClaims(t *testing.T, h Harness) {
	f := open(t, h)
	owners := func(f *fixture, claims ...store.Claim) (owners map[store.Claim]string) {
		f.read(func(s store.Snapshot) {
			var err error
			owners, err = s.Claims(f.ctx, claims)
			f.must(err)
		})
		return owners
	}
	claiming := func(id string, claims ...store.Claim) store.Write {
		w := newRecord(id, `{}`)
		w.AddClaims = claims
		return w
	}

	f.run("a taken value", func(f *fixture) {
		f.put(things, claiming("a", claim("x")))
		f.code(f.tryPut(things, claiming("b", claim("free"), claim("x"))), store.CodeConflict)
		same(f, "the owners", owners(f, claim("x"), claim("free")), map[store.Claim]string{claim("x"): "a"})
		if _, stored := f.get(things, "b"); stored {
			f.Error("the record without its claim was stored")
		}
		f.code(f.tryPut(things, claiming("c", claim("y")), claiming("d", claim("y"))), store.CodeConflict)
	})

	f.run("one's own value again", func(f *fixture) {
		a, _ := f.get(things, "a")
		w := next(a, `{}`)
		w.AddClaims = []store.Claim{claim("x")}
		f.put(things, w)
		same(f, "the owner", owners(f, claim("x"))[claim("x")], "a")
	})

	f.run("each part counts", func(f *fixture) {
		near := []store.Claim{
			{Collection: others, Network: net, Property: "name", Value: "x"},
			{Collection: things, Network: "n2", Property: "name", Value: "x"},
			{Collection: things, Network: net, Property: "other", Value: "x"},
			claim("X"), claim("x "), claim(""), claim("é"), claim("e\u0301"), claim(`x'"\;%`),
		}
		want := map[store.Claim]string{claim("x"): "a"}
		for i, c := range near {
			id := fmt.Sprintf("near-%d", i)
			f.put(things, claiming(id, c))
			want[c] = id
		}
		if got := owners(f, append(near, claim("nobody's"), claim("x"))...); !maps.Equal(got, want) {
			f.Errorf("got %v, want %v", got, want)
		}
	})

	f.run("dropped, and taken by another", func(f *fixture) {
		a, _ := f.get(things, "a")
		w := next(a, `{}`)
		w.DropClaims = []store.Claim{claim("x")}
		f.put(things, w)
		same(f, "the owners", len(owners(f, claim("x"))), 0)
		f.put(things, claiming("heir", claim("x")))
		a, _ = f.get(things, "a")
		w = next(a, `{}`)
		w.DropClaims = []store.Claim{claim("x")} // another's by now
		f.put(things, w)
		same(f, "the owner", owners(f, claim("x"))[claim("x")], "heir")
	})

	f.run("two swap their values in one Put", func(f *fixture) {
		f.put(things, claiming("left", claim("l")), claiming("right", claim("r")))
		left, _ := f.get(things, "left")
		right, _ := f.get(things, "right")
		l, r := next(left, `{}`), next(right, `{}`)
		l.DropClaims, l.AddClaims = []store.Claim{claim("l")}, []store.Claim{claim("r")}
		r.DropClaims, r.AddClaims = []store.Claim{claim("r")}, []store.Claim{claim("l")}
		f.put(things, l, r)
		same(f, "the owners", owners(f, claim("l"), claim("r")), map[store.Claim]string{claim("l"): "right", claim("r"): "left"})
	})

	f.run("many want one value", func(f *fixture) {
		taken := errors.New("taken")
		const racers = 16
		results := make([]error, racers)
		together(racers, func(i int) {
			results[i] = f.write(func(tx store.Tx) error {
				owners, err := tx.Claims(f.ctx, []store.Claim{claim("prize")})
				if err != nil {
					return err
				}
				if owners[claim("prize")] != "" {
					return taken
				}
				return tx.Put(f.ctx, things, []store.Write{claiming(fmt.Sprintf("racer-%d", i), claim("prize"))})
			})
		})
		winner := ""
		for i, err := range results {
			id := fmt.Sprintf("racer-%d", i)
			_, stored := f.get(things, id)
			switch {
			case err == nil && winner == "" && stored:
				winner = id
			case err != taken || stored:
				f.Errorf("%s: %v, stored: %t, after the winner %q", id, err, stored, winner)
			}
		}
		same(f, "the owner", owners(f, claim("prize"))[claim("prize")], winner)
	})
}
