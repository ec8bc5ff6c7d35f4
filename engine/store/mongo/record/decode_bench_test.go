package record

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"marquee/engine/document"
	"marquee/engine/store"
)

// benchRecord returns a stored record of the size of a line item.
func benchRecord(b *testing.B) bson.Raw {
	object := map[string]any{
		"name": "Line item 00000042", "type": "AUCTION", "userState": "APPROVED", "order": "o7", "tier": "t",
		"startDate": "2030-05-01T00:00:00.000Z", "endDate": "2030-08-31T22:00:00.000Z",
		"objectives":       map[string]any{"IMPRESSION": int64(500_000)},
		"bidSpecification": map[string]any{"cpm": map[string]any{"amount": 4.5, "currency": "EUR"}},
		"labels":           []any{"summer", "front"},
		"rateLimits":       []any{map[string]any{"amount": int64(3), "periodType": "DAYS", "scope": "PER_USER", "type": "IMPRESSION"}},
	}
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	w := &store.Write{Record: store.Record{Key: store.Key{Network: "main", ID: "li-00000042"}, Version: 1, State: "ACTIVE",
		CreateTime: now, UpdateTime: now, CreateUser: "admin", UpdateUser: "admin", Document: document.Append(nil, object)}}
	start, raw := bsoncore.AppendDocumentStart(nil)
	raw, err := Append(raw, w)
	if err != nil {
		b.Fatal(err)
	}
	raw, _ = bsoncore.AppendDocumentEnd(raw, start)
	return raw
}

// BenchmarkDecode compares decoding to JSON in one pass with the naive ways:
// through maps, and through the driver's Extended JSON, which would still have
// to be simplified and made canonical.
func BenchmarkDecode(b *testing.B) {
	raw := benchRecord(b)
	ours := func() ([]byte, error) {
		var d Decoder
		record, err := d.Decode(raw)
		if err != nil {
			return nil, err
		}
		return record.Document, nil
	}
	var reused Decoder
	for name, way := range map[string]func() ([]byte, error){
		"maps": func() ([]byte, error) {
			var stored bson.M
			if err := bson.Unmarshal(raw, &stored); err != nil {
				return nil, err
			}
			return json.Marshal(plain(stored["document"]))
		},
		"extjson": func() ([]byte, error) { return bson.MarshalExtJSON(raw, false, false) },
	} {
		b.Run(name, func(b *testing.B) {
			if name == "maps" { // the same, but for the order of members and the form of numbers
				checkSame(b, ours, way)
			}
			const documents, rounds = 500, 41
			for range b.N {
				var mine, naive [rounds]time.Duration
				for i := range rounds { // alternately, because the speed of the machine drifts
					mine[i] = timed(b, documents, func() ([]byte, error) {
						_, err := reused.Decode(raw)
						return nil, err
					})
					naive[i] = timed(b, documents, way)
				}
				slices.Sort(mine[:])
				slices.Sort(naive[:])
				ours, theirs := mine[rounds/2], naive[rounds/2]
				b.ReportMetric(float64(ours.Nanoseconds())/documents, "ns/document")
				b.ReportMetric(float64(theirs.Nanoseconds())/documents, "ns/naive")
				b.ReportMetric(float64(theirs)/float64(ours), "naive/ours")
			}
		})
	}
}

func timed(b *testing.B, n int, way func() ([]byte, error)) time.Duration {
	began := time.Now()
	for range n {
		if _, err := way(); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(began)
}

func checkSame(b *testing.B, ours, naive func() ([]byte, error)) {
	a, err := ours()
	if err != nil {
		b.Fatal(err)
	}
	text, err := naive()
	if err != nil {
		b.Fatal(err)
	}
	object, err := document.DecodeObject(text, document.Limits{})
	if err != nil || string(document.Append(nil, object)) != string(a) {
		b.Fatalf("%s is not %s: %v", text, a, err)
	}
}

// plain converts values of the driver to those of JSON.
func plain(value any) any {
	switch value := value.(type) {
	case bson.D:
		object := make(map[string]any, len(value))
		for _, e := range value {
			object[e.Key] = plain(e.Value)
		}
		return object
	case bson.M:
		for name, member := range value {
			value[name] = plain(member)
		}
	case bson.A:
		for i, item := range value {
			value[i] = plain(item)
		}
	case bson.DateTime:
		return document.FormatTime(value.Time())
	case nil, string, bool, int64, float64:
	default:
		panic(fmt.Sprintf("%T", value))
	}
	return value
}
