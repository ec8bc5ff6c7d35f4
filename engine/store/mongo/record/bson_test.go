package record

import (
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/engine/document"
	"marquee/engine/store"
)

// FuzzDocument checks that every JSON object in canonical form is valid BSON
// that converts back to the same bytes, and that MongoDB takes none of its
// names for an operator or a path.
func FuzzDocument(f *testing.F) {
	for _, doc := range []string{`{}`, `{"a":null,"b":[[],{}],"c":-0.5,"d":9223372036854775807}`, `{"":1,"$":2,"a.b":{"$set":3},"%":4,"%2E":5,"a%":6,"%41":7}`,
		`{"s":"\u0001\"\\ é😀","t":true,"f":1e300,"g":1e-300}`, `{"\u0001":{"\u007f":"x"}}`} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		object, err := document.DecodeObject(data, document.Limits{Depth: 100})
		if err != nil {
			return
		}
		canonical := document.Append(nil, object)
		encoded, _, err := appendObject(nil, canonical, 0)
		raw := bson.Raw(encoded)
		if err != nil {
			t.Fatalf("%s: %v", canonical, err)
		}
		if err := raw.Validate(); err != nil {
			t.Fatalf("%s: %v", canonical, err)
		}
		checkNames(t, raw)
		var w jsonWriter
		if err := w.object(raw); err != nil || string(w.out) != string(canonical) || w.disordered {
			t.Fatalf("%s became %s: %v, disordered %t", canonical, w.out, err, w.disordered)
		}
	})
}

func checkNames(t *testing.T, raw bson.Raw) {
	elements, err := raw.Elements()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range elements {
		if name := e.Key(); name == "" || name[0] == '$' || strings.ContainsAny(name, ".\x00") {
			t.Fatalf("the name %q is stored as it is", name)
		}
		switch value := e.Value(); value.Type {
		case bson.TypeEmbeddedDocument:
			checkNames(t, value.Document())
		case bson.TypeArray:
			checkNames(t, bson.Raw(value.Array()))
		}
	}
}

// FuzzDecode checks that decoding any stored document returns an error or a
// record that the engine can use.
func FuzzDecode(f *testing.F) {
	add := func(members ...bson.E) {
		whole := bson.D{{Key: "_id", Value: bson.D{{Key: "network", Value: "n"}, {Key: "id", Value: "i"}}}, {Key: "version", Value: int32(1)}, {Key: "state", Value: "ACTIVE"}}
		raw, err := bson.Marshal(append(whole, members...))
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(raw))
	}
	add()
	add(bson.E{Key: "document", Value: bson.D{{Key: "b", Value: int32(1)}, {Key: "a", Value: bson.NewObjectID()}}})
	add(bson.E{Key: "document", Value: bson.D{{Key: "b", Value: 1.5}, {Key: "a", Value: bson.A{"x", nil, true}}}}, bson.E{Key: "terms", Value: bson.A{"a=b"}})
	add(bson.E{Key: "document", Value: bson.D{}}, bson.E{Key: "warnings", Value: bson.A{bson.D{{Key: "code", Value: "W"}}}})
	f.Fuzz(func(t *testing.T, data []byte) {
		var d Decoder
		record, err := d.Decode(data)
		if err != nil {
			return
		}
		if bson.Raw(data).Validate() != nil {
			return // MongoDB returns only valid BSON
		}
		object, err := document.DecodeObject(record.Document, document.Limits{Depth: 1000})
		if err == nil && string(document.Append(nil, object)) != string(record.Document) {
			t.Fatalf("%s is not canonical", record.Document)
		}
	})
}

// TestChangedByHand checks records that were edited in the database. Values
// that JSON has are decoded, whatever their BSON type; for others, the message
// names the record, the place and the remedy.
func TestChangedByHand(t *testing.T) {
	whole := func(member string, value any) bson.D {
		d := bson.D{{Key: "_id", Value: bson.D{{Key: "network", Value: "n"}, {Key: "id", Value: "i"}}}, {Key: "version", Value: int32(1)},
			{Key: "state", Value: "ACTIVE"}, {Key: "document", Value: bson.D{}}}
		for i := range d {
			if d[i].Key == member {
				d[i].Value = value
				return d
			}
		}
		return append(d, bson.E{Key: member, Value: value})
	}
	for name, c := range map[string]struct {
		stored bson.D
		want   string // the document, or part of the message
	}{
		"an int32":             {whole("document", bson.D{{Key: "a", Value: int32(7)}}), `{"a":7}`},
		"members out of order": {whole("document", bson.D{{Key: "b", Value: true}, {Key: "a", Value: bson.D{{Key: "d", Value: 1.0}, {Key: "c", Value: nil}}}}), `{"a":{"c":null,"d":1},"b":true}`},
		"a date":               {whole("document", bson.D{{Key: "a", Value: bson.DateTime(0)}}), `{"a":"1970-01-01T00:00:00.000Z"}`},
		"an ObjectID":          {whole("document", bson.D{{Key: "a", Value: bson.A{bson.D{{Key: "b", Value: bson.NewObjectID()}}}}}), "document.a.0.b"},
		"a decimal":            {whole("document", bson.D{{Key: "a", Value: bson.NewDecimal128(1, 1)}}), "decimal"},
		"no document":          {whole("document", "text"), "document"},
		"no version":           {whole("version", "1"), "version"},
		"version 0":            {whole("version", int64(0)), "version"},
		"no state":             {whole("state", ""), "state"},
		"no time":              {whole("createTime", "yesterday"), "createTime"},
		"warnings":             {whole("warnings", bson.D{}), "warnings"},
	} {
		raw, err := bson.Marshal(c.stored)
		if err != nil {
			t.Fatal(err)
		}
		var d Decoder
		record, err := d.Decode(raw)
		if err == nil {
			if string(record.Document) != c.want {
				t.Errorf("%s: got %s", name, record.Document)
			}
			continue
		}
		err = d.Damaged("things", err)
		if code, _ := store.CodeOf(err); code != store.CodeInternal {
			t.Errorf("%s: %v has the code %d", name, err, code)
		}
		for _, want := range []string{c.want, `"i"`, `"n"`, "things", "restore it from a backup"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v says nothing of %s", name, err, want)
			}
		}
	}
}
