package location

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

const oslo = `{"id": 3143244, "type": "CITY", "name": "Oslo", "alternateNames": ["Kristiania"], "region": "Oslo", "country": "Norway", "population": 1082575}`

func TestRead(t *testing.T) {
	got, err := Read(strings.NewReader("\uFEFF" + oslo + "\r\n\n  \n" + `{"name":"Ø","type":"REGION","id":9007199254740991}`))
	want := []Location{
		{ID: 3143244, Type: City, Name: "Oslo", Alternates: []string{"Kristiania"}, Region: "Oslo", Country: "Norway", Population: 1082575},
		{ID: MaxID, Type: Region, Name: "Ø"},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v (%v)", got, err)
	}
	if got, err := Read(strings.NewReader("")); err != nil || len(got) != 0 {
		t.Errorf("nothing: %v (%v)", got, err)
	}
}

func TestReadFaults(t *testing.T) {
	with := func(old, new string) string {
		return oslo + "\n" + strings.Replace(strings.Replace(oslo, "3143244", "2", 1), old, new, 1)
	}
	for _, c := range []struct {
		text  string
		line  int
		kind  Kind
		field string
	}{
		{"[]", 1, NotAnObject, ""},
		{"null", 1, NotAnObject, ""},
		{"\n{", 2, NotAnObject, ""},
		{oslo + "\n" + oslo + oslo, 2, NotAnObject, ""},
		{with(`"Oslo"`, "\"\xff\""), 2, NotAnObject, ""},
		{with(`"country"`, `"region"`), 2, NotAnObject, ""},
		{with(`"country"`, `"Country"`), 2, UnknownField, "Country"},
		{with(`"id": 2, `, ``), 2, FieldRequired, "id"},
		{with(`"type": "CITY", `, ``), 2, FieldRequired, "type"},
		{with(`"name": "Oslo", `, ``), 2, FieldRequired, "name"},
		{with(`"id": 2`, `"id": 0`), 2, FieldInvalid, "id"},
		{with(`"id": 2`, `"id": "2"`), 2, FieldInvalid, "id"},
		{with(`"id": 2`, `"id": 2.5`), 2, FieldInvalid, "id"},
		{with(`"id": 2`, `"id": 9007199254740992`), 2, FieldInvalid, "id"},
		{with(`"id": 2`, `"id": null`), 2, FieldInvalid, "id"},
		{with(`CITY`, `city`), 2, FieldInvalid, "type"},
		{with(`"Oslo"`, `""`), 2, FieldInvalid, "name"},
		{with(`"Oslo"`, `"-"`), 2, FieldInvalid, "name"},
		{with(`"Oslo"`, `"a\u0000"`), 2, FieldInvalid, "name"},
		{with(`"Oslo"`, `"`+strings.Repeat("ø", 201)+`"`), 2, FieldInvalid, "name"},
		{with(`["Kristiania"]`, `"Kristiania"`), 2, FieldInvalid, "alternateNames"},
		{with(`["Kristiania"]`, `[""]`), 2, FieldInvalid, "alternateNames"},
		{with(`["Kristiania"]`, `["a"`+strings.Repeat(`,"a"`, 1000)+`]`), 2, FieldInvalid, "alternateNames"},
		{with(`"region": "Oslo"`, `"region": "\n"`), 2, FieldInvalid, "region"},
		{with(`"Norway"`, `{}`), 2, FieldInvalid, "country"},
		{with(`1082575`, `-1`), 2, FieldInvalid, "population"},
		{with(`1082575`, `null`), 2, FieldInvalid, "population"},
		{with(`["Kristiania"]`, `null`), 2, FieldInvalid, "alternateNames"},
		{oslo + "\n\n" + oslo, 3, DuplicateID, "id"},
		{oslo + "\n" + strings.Repeat("x", MaxLineBytes), 2, LineTooLong, ""},
	} {
		locations, err := Read(strings.NewReader(c.text))
		var fault *FaultError
		if !errors.As(err, &fault) || fault.Line != c.line || fault.Kind != c.kind || fault.Field != c.field || locations != nil {
			t.Errorf("%.200q: %v, want line %d: %s %s", c.text, err, c.line, c.kind, c.field)
		}
	}
	_, err := Read(io.MultiReader(strings.NewReader(oslo+"\n"), iotest.ErrReader(io.ErrClosedPipe)))
	var fault *FaultError
	if !errors.As(err, &fault) || fault.Kind != NotReadable || fault.Line != 2 || !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a reader that fails: %v", err)
	}
	locations, err := read(strings.NewReader(oslo+"\n"+`{"id":1,"type":"CITY","name":"A"}`), 1)
	if !errors.As(err, &fault) || fault.Kind != TooMany || fault.Line != 2 || locations != nil {
		t.Errorf("more locations than the limit: %v", err)
	}
	if want := "line 2: TOO_MANY"; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
}

// line returns a location in the format of Read.
func line(t *testing.T, l Location) []byte {
	t.Helper()
	data, err := json.Marshal(map[string]any{
		"id": l.ID, "type": l.Type, "name": l.Name, "alternateNames": append([]string{}, l.Alternates...),
		"region": l.Region, "country": l.Country, "population": l.Population,
	})
	if err != nil {
		t.Fatal(err)
	}
	return append(data, '\n')
}

// The embedded locations, written in the format of Read, make the same gazetteer.
func TestReadEmbedded(t *testing.T) {
	var file bytes.Buffer
	for l := range Load().All() {
		file.Write(line(t, l))
	}
	locations, err := Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	own := New(locations)
	for _, text := range []string{"san", "Zürich", "paris, texas"} {
		if got, want := own.Search(text, 0, 100), Load().Search(text, 0, 100); !reflect.DeepEqual(got, want) {
			t.Errorf("%q finds %d, in the embedded gazetteer %d", text, got.TotalHits, want.TotalHits)
		}
	}
}

// A file is either refused with a line number, or its locations can be found, written
// and read again.
func FuzzRead(f *testing.F) {
	for _, text := range []string{oslo, oslo + "\n" + oslo, "", "{}", "\uFEFF{", `{"id":1,"type":"CITY","name":"ß"}`, "\n\n[]", "{\"id\":1e0}", "\xff"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		locations, err := Read(bytes.NewReader(data))
		if err != nil {
			var fault *FaultError
			if !errors.As(err, &fault) || fault.Line < 1 || fault.Line > bytes.Count(data, []byte("\n"))+1 || locations != nil {
				t.Fatalf("%q: %v", data, err)
			}
			return
		}
		g := New(locations)
		var file bytes.Buffer
		for _, l := range locations {
			if r := g.Search(l.Name, 0, len(locations)); len(l.Name) <= MaxQueryBytes && r.TotalHits == 0 {
				t.Fatalf("%q is not found", l.Name)
			}
			if len(l.Alternates) == 0 {
				l.Alternates = nil
			}
			file.Write(line(t, l))
		}
		again, err := Read(&file)
		if err != nil || len(again) != len(locations) {
			t.Fatalf("%q: %v", file.Bytes(), err)
		}
	})
}
