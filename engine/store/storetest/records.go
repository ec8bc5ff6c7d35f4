package storetest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"marquee/engine/document"
	"marquee/engine/store"
)

// testRecords proves that records are stored and returned unchanged.
func testRecords(t *testing.T, h Harness) {
	f := open(t, h)

	f.run("Get returns what Put stored", testRoundTrip)
	f.run("networks and collections are separate", testSeparation)
	f.run("the bytes of a document stay the same", testDocumentBytes)
	f.run("ids of any characters", testIDs)
	f.run("times in milliseconds", testTimes)
	f.run("an error of yield is returned unchanged", testYieldError)
	f.run("many keys at once", testManyKeys)
	f.run("existing", testExisting)
	f.run("labels", testLabels)
	f.run("labels of some", testLabelsOfSome)
}

func testRoundTrip(f *fixture) {
	if _, ok := f.get(things, "none"); ok {
		f.Error("got a record that was never put")
	}
	w := newRecord("a", `{"name":"first"}`)
	w.Warnings, w.State = []byte(`[{"code":"W"}]`), "A_STATE_OF_ITS_OWN"
	f.put(things, w)
	got, _ := f.get(things, "a")
	same(f, "the first version", got, w.Record)
	second := next(got, `{"name":"second"}`)
	second.Warnings, second.State = nil, "INACTIVE"
	f.put(things, second)
	got, _ = f.get(things, "a")
	same(f, "the second version", got, second.Record)
	// Change terms, with and without warnings, and with an unchanged document.
	one, other := []store.Term{{Key: "t", Value: "one"}}, []store.Term{{Key: "t", Value: "$other"}}
	for i, terms := range [][2][]store.Term{{nil, one}, {one, other}, {other, one}, {one, other}, {other, one}, {one, nil}, {nil, nil}, {nil, nil}, {nil, one}} {
		another := next(got, fmt.Sprintf(`{"name":"version %d"}`, i))
		if i > 2 {
			another.Document, another.Same = got.Document, true
		}
		another.DropTerms, another.AddTerms = terms[0], terms[1]
		if another.Warnings = nil; i%2 == 1 {
			another.Warnings = []byte(`[{"code":"W"}]`)
		}
		f.put(things, another)
		got, _ = f.get(things, "a")
		same(f, fmt.Sprintf("with terms, version %d", i), got, another.Record)
	}
}

func testSeparation(f *fixture) {
	for _, place := range []struct{ collection, network string }{{things, "n2"}, {things, ""}, {others, "n2"}} {
		w := newRecord("shared", fmt.Sprintf(`{"at":%q}`, place.collection+place.network))
		w.Network = place.network
		f.put(place.collection, w)
	}
	keys := []store.Key{key("shared"), {Network: "n2", ID: "shared"}, {ID: "shared"}}
	f.read(func(s store.Snapshot) {
		found := f.records(s, things, keys...)
		same(f, "of n2", string(found[keys[1]].Document), `{"at":"thingsn2"}`)
		same(f, "of no network", string(found[keys[2]].Document), `{"at":"things"}`)
		same(f, "how many", len(found), 2)
		same(f, "in the other collection", len(f.records(s, others, keys...)), 1)
	})
}

func testDocumentBytes(f *fixture) {
	for i, doc := range documents {
		id := fmt.Sprintf("bytes-%d", i)
		object, err := document.DecodeObject([]byte(doc), document.Limits{Depth: 1000})
		f.must(err)
		doc = string(encode(object))
		f.put(things, newRecord(id, doc))
		got, _ := f.get(things, id)
		if string(got.Document) != doc {
			f.Errorf("got %s, put %s", shorten(string(got.Document)), shorten(doc))
		}
		again := next(got, doc)
		again.DropTerms, again.AddTerms = []store.Term{{Key: "t", Value: "one"}}, []store.Term{{Key: "t", Value: "other"}}
		f.put(things, again)
		if got, _ := f.get(things, id); string(got.Document) != doc {
			f.Errorf("got %s, put again %s", shorten(string(got.Document)), shorten(doc))
		}
	}
}

func testIDs(f *fixture) {
	var writes []store.Write
	for _, id := range oddIDs {
		w := newRecord(id, `{}`)
		w.Network = "ids"
		writes = append(writes, w)
	}
	f.put(things, writes...)
	f.read(func(s store.Snapshot) {
		for _, id := range oddIDs {
			k := store.Key{Network: "ids", ID: id}
			if found := f.records(s, things, k); len(found) != 1 || found[k].ID != id {
				f.Errorf("%q: got %v", id, found)
			}
		}
		q := all(things, nil)
		q.Network = "ids"
		want := slices.Sorted(slices.Values(oddIDs))
		same(f, "in the order of their bytes", fmt.Sprintf("%q", idsOf(f.page(s, q))), fmt.Sprintf("%q", want))
	})
}

func testTimes(f *fixture) {
	for i, at := range []time.Time{
		time.Date(1, 1, 1, 0, 0, 0, 1e6, time.UTC), time.Date(1969, 12, 31, 23, 59, 59, 999e6, time.UTC),
		time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC),
	} {
		w := newRecord(fmt.Sprintf("time-%d", i), `{}`)
		w.CreateTime, w.UpdateTime = at, at.In(time.FixedZone("east", 7200))
		f.put(things, w)
		got, _ := f.get(things, w.ID)
		same(f, "created", got.CreateTime, at)
		same(f, "updated", got.UpdateTime, at)
	}
}

func testYieldError(f *fixture) {
	own := errors.New("enough")
	f.read(func(s store.Snapshot) {
		stop := func(*store.Record) error { return own }
		if err := s.Get(f.ctx, things, []store.Key{key("a"), key("bytes-0")}, stop); err != own {
			f.Errorf("Get returned %v", err)
		}
		if err := s.Find(f.ctx, all(things, nil), stop); err != own {
			f.Errorf("Find returned %v", err)
		}
		same(f, "afterwards", len(f.records(s, things, key("a"))), 1)
	})
}

// documents are JSON whose bytes a store might change.
var documents = []string{
	`{}`,
	`{"a":null,"b":[],"c":{},"d":"","e":[null,[[]]]}`,
	`{"n":[9223372036854775807,-9223372036854775808,0,-1,1e-7,1.5,123456789.125,1e+21,1.7976931348623157e+308,5e-324,0.1]}`,
	`{"s":"\"\\/\b\u0001\u001f\u007f 'x' % _ ; -- \n\r\t"}`,
	`{"s":"Grüße, 世界, 😀, e` + "\u0301" + `,   ` + "\u2028\ufeff\U0010fffd" + `"}`,
	`{"-":1,"a b":2,"a-b":3,"a.b":4,"a\"b":5,"a\\b":6,"é":7,"":8,"$":9,"[0]":10}`,
	`{"long":"` + strings.Repeat("0123456789abcdef", 1<<16) + `"}`,
	strings.Repeat(`{"a":`, 100) + `{}` + strings.Repeat(`}`, 100),
}

var oddIDs = []string{"A", "a", "B", "0", "10", "9", "x'y", `x"y`, `x\y`, "x%y", "x_y", "x;--", "x y", " x", "x ", "é", "e\u0301",
	"ß", "SS", "世界", "😀", "null", "true", "[1]", "{}", "a/b?c#d", strings.Repeat("l", 256)}

func testManyKeys(f *fixture) {
	const many = 2000
	var writes []store.Write
	var keys []store.Key
	for i := range many {
		w := newRecord(fmt.Sprintf("%04d", i), fmt.Sprintf(`{"i":%d}`, i))
		w.Network = fmt.Sprintf("many%d", i%2)
		writes = append(writes, w)
		keys = append(keys, w.Key, store.Key{Network: w.Network, ID: "absent-" + w.ID})
	}
	f.put(things, writes...)
	keys = append(keys, keys[0]) // a duplicate
	f.read(func(s store.Snapshot) {
		found := f.records(s, things, keys...)
		same(f, "how many exist", len(found), many)
		for _, w := range writes {
			if string(found[w.Key].Document) != string(w.Document) {
				f.Fatalf("%+v is %s", w.Key, found[w.Key].Document)
			}
		}
		same(f, "no keys", len(f.records(s, things)), 0)
	})
}

func testExisting(f *fixture) {
	f.put(things, newRecord("once", `{"name":"x"}`), newRecord("twice", `{"name":"x"}`))
	f.read(func(s store.Snapshot) {
		got, err := store.Existing(f.ctx, s, things, []store.Key{key("once"), key("twice"), key("none"), key("once")})
		f.must(err)
		if want := map[store.Key]string{key("once"): "", key("twice"): ""}; !maps.Equal(got, want) {
			f.Errorf("got %v, want %v", got, want)
		}
		got, err = store.Existing(f.ctx, s, things, nil)
		f.must(err)
		same(f, "no keys", len(got), 0)
	})
}
