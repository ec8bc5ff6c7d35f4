package storetest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"marquee/engine/store"
)

func claim(value string) store.Claim {
	return store.Claim{Collection: things, Network: net, Property: "name", Value: value}
}

// owners returns the owners of those of the claims that are taken.
func (f *fixture) owners(claims ...store.Claim) (owners map[store.Claim]string) {
	f.Helper()
	f.read(func(s store.Snapshot) {
		var err error
		owners, err = s.Claims(f.ctx, claims)
		f.must(err)
	})
	return owners
}

// claiming returns the write of a new record with claims.
func claiming(id string, claims ...store.Claim) store.Write {
	w := newRecord(id, `{}`)
	w.AddClaims = claims
	return w
}

// testClaims proves that a unique value has one owner.
func testClaims(t *testing.T, h Harness) {
	f := open(t, h)
	f.run("a taken claim", testTakenClaim)
	f.run("the owner claims again", testRepeatedClaim)
	f.run("claims that differ in one part", testNearClaims)
	f.run("dropped, then taken by another", testDroppedClaim)
	f.run("two records swap claims", testSwappedClaims)
	f.run("many transactions want one claim", testContestedClaim)
	f.run("claims in the order of their values", testClaimsAfter)
}

func testTakenClaim(f *fixture) {
	f.put(things, claiming("a", claim("x")))
	f.code(f.tryPut(things, claiming("b", claim("free"), claim("x"))), store.CodeConflict)
	same(f, "the owners", f.owners(claim("x"), claim("free")), map[store.Claim]string{claim("x"): "a"})
	if _, stored := f.get(things, "b"); stored {
		f.Error("the record without its claim was stored")
	}
	f.code(f.tryPut(things, claiming("c", claim("y")), claiming("d", claim("y"))), store.CodeConflict)
}

func testRepeatedClaim(f *fixture) {
	a, _ := f.get(things, "a")
	w := next(a, `{}`)
	w.AddClaims = []store.Claim{claim("x")}
	f.put(things, w)
	same(f, "the owner", f.owners(claim("x"))[claim("x")], "a")
}

func testNearClaims(f *fixture) {
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
	if got := f.owners(append(near, claim("nobody's"), claim("x"))...); !maps.Equal(got, want) {
		f.Errorf("got %v, want %v", got, want)
	}
}

func testDroppedClaim(f *fixture) {
	a, _ := f.get(things, "a")
	w := next(a, `{}`)
	w.DropClaims = []store.Claim{claim("x")}
	f.put(things, w)
	same(f, "the owners", len(f.owners(claim("x"))), 0)
	f.put(things, claiming("heir", claim("x")))
	a, _ = f.get(things, "a")
	w = next(a, `{}`)
	w.DropClaims = []store.Claim{claim("x")} // now owned by another
	f.put(things, w)
	same(f, "the owner", f.owners(claim("x"))[claim("x")], "heir")
}

func testSwappedClaims(f *fixture) {
	f.put(things, claiming("left", claim("l")), claiming("right", claim("r")))
	left, _ := f.get(things, "left")
	right, _ := f.get(things, "right")
	l, r := next(left, `{}`), next(right, `{}`)
	l.DropClaims, l.AddClaims = []store.Claim{claim("l")}, []store.Claim{claim("r")}
	r.DropClaims, r.AddClaims = []store.Claim{claim("r")}, []store.Claim{claim("l")}
	f.put(things, l, r)
	same(f, "the owners", f.owners(claim("l"), claim("r")), map[store.Claim]string{claim("l"): "right", claim("r"): "left"})
}

func testClaimsAfter(f *fixture) {
	ordered := func(value string) store.Claim {
		return store.Claim{Collection: things, Network: net, Property: "ordered", Value: value}
	}
	values := []string{"a", "a ", "a!", "aé", "a\U0010FFFE", "b", "A", "aa"}
	for i, value := range values {
		near := ordered(value)
		near.Network = "n2"
		f.put(things, claiming(fmt.Sprintf("ordered-%d", i), ordered(value)), claiming(fmt.Sprintf("nearby-%d", i), near, claim("ordered "+value)))
	}
	for _, c := range []struct {
		after, prefix string
		limit         int
		want          []string
	}{
		{"", "", 100, []string{"A", "a", "a ", "a!", "aa", "aé", "a\U0010FFFE", "b"}},
		{"a", "a", 100, []string{"a ", "a!", "aa", "aé", "a\U0010FFFE"}},
		{"", "a", 2, []string{"a", "a "}},
		{"a!", "a", 1, []string{"aa"}},
		{"a", "b", 1, []string{"b"}},
		{"b", "a", 1, nil},
		{"a", "c", 1, nil},
		{"a", "a", 0, nil},
	} {
		var got []string
		f.read(func(s store.Snapshot) {
			got = nil
			f.must(s.ClaimsAfter(f.ctx, store.ClaimRange{After: ordered(c.after), Prefix: c.prefix, Limit: c.limit}, func(claim store.Claim, owner string) error {
				if i := slices.Index(values, claim.Value); claim != ordered(claim.Value) || owner != fmt.Sprintf("ordered-%d", i) {
					f.Errorf("%+v of %s", claim, owner)
				}
				got = append(got, claim.Value)
				return nil
			}))
		})
		if !slices.Equal(got, c.want) {
			f.Errorf("after %q with the prefix %q: %q, want %q", c.after, c.prefix, got, c.want)
		}
	}
}

func testContestedClaim(f *fixture) {
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
	same(f, "the owner", f.owners(claim("prize"))[claim("prize")], winner)
}
