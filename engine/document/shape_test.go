package document

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

func TestNormalise(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{`{"name":"a","unknown":1,"readOnly":"x"}`, `{"name":"a"}`},
		{`{"name":null,"readOnly":null}`, `{"name":null}`},
		{`{"team":{"id":"b","name":"B","url":"/x"}}`, `{"team":"b"}`},
		{`{"node":{"child":{"team":{"id":"c"},"x":1}}}`, `{"node":{"child":{"team":"c"}}}`},
		{`{"at":"2030-01-01T02:00:00+02:00"}`, `{"at":"2030-01-01T00:00:00.000Z"}`},
		{`{"at":"soon"}`, `{"at":"soon"}`},
		{`{"settings":{"made":"there"}}`, `{"settings":{"list":[1],"made":"here","on":true}}`},
		{`{"targeting":{"one":{"teams":[]},"many":[]}}`, `{"targeting":null}`},
		{`{"targeting":{"one":{"teams":["a"],"negated":null},"many":[]}}`, `{"targeting":{"one":{"negated":false,"teams":["a"]}}}`},
		{`{"targeting":{"many":[]}}`, `{"targeting":null}`},
		{`{"targeting":{"many":[{},{"teams":["a"]}]}}`, `{"targeting":{"many":[{"negated":false},{"negated":false,"teams":["a"]}]}}`},
		{`{"free":{"team":{"id":"x"},"a":null}}`, `{"free":{"a":null,"team":{"id":"x"}}}`},
	} {
		object, err := DecodeObject([]byte(c.body), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		got, faults := normalised(t, sample(), object)
		if got := string(Append(nil, got)); got != c.want || faults > 0 {
			t.Errorf("%s became %s with %d faults, want %s", c.body, got, faults, c.want)
		}
	}
}

// An empty object in an array is not removed, as the items keep their indexes.
func TestNormaliseEmptyItems(t *testing.T) {
	inner := &Shape{Types: []string{"object"}, Complete: true, Properties: map[string]*Shape{"a": {}}}
	shape := &Shape{Properties: map[string]*Shape{"list": {Items: inner}}}
	got, _ := normalised(t, shape, map[string]any{"list": []any{map[string]any{}, map[string]any{"a": "b"}, nil}})
	if got := string(Append(nil, got)); got != `{"list":[{},{"a":"b"},null]}` {
		t.Error(got)
	}
}

func TestDiff(t *testing.T) {
	from := map[string]any{"same": []any{int64(1)}, "gone": nil, "new": int64(1), "kind": int64(1)}
	to := map[string]any{"same": []any{int64(1)}, "new": "1", "added": nil, "kind": map[string]any{}}
	want := []FieldChange{
		{Field: "added", Set: true}, {Field: "gone", Was: true},
		{Field: "kind", From: int64(1), To: map[string]any{}, Was: true, Set: true},
		{Field: "new", From: int64(1), To: "1", Was: true, Set: true},
	}
	got := Diff(from, to)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
	if changes := Diff(to, to); len(changes) > 0 {
		t.Errorf("%v", changes)
	}
}

func secretive() *Shape {
	secret := &Shape{Types: []string{"string"}, Secret: true, HasSecrets: true}
	return &Shape{HasSecrets: true, Properties: map[string]*Shape{
		"key":  secret,
		"name": {Types: []string{"string"}},
		"keys": {Types: []string{"array"}, Items: secret, HasSecrets: true},
		"list": {Types: []string{"array"}, HasSecrets: true, Items: &Shape{HasSecrets: true, Properties: map[string]*Shape{"key": secret}}},
		"map":  {HasSecrets: true, Extra: secret},
	}}
}

const secrets = `{"key":"k","keys":["a","b"],"list":[{"key":"c"},{}],"map":{"x/y":"d"},"name":"n"}`

func TestSecrets(t *testing.T) {
	object, err := DecodeObject([]byte(secrets), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var places []string
	err = secretive().Secrets(object, func(at Pointer, secret string) (string, error) {
		places = append(places, at.String()+"="+secret)
		return secret + "!", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(places)
	if got, want := fmt.Sprint(places), "[/key=k /keys/0=a /keys/1=b /list/0/key=c /map/x~1y=d]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := string(Append(nil, object)), `{"key":"k!","keys":["a!","b!"],"list":[{"key":"c!"},{}],"map":{"x/y":"d!"},"name":"n"}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	broken := errors.New("broken")
	if err := secretive().Secrets(object, func(Pointer, string) (string, error) { return "", broken }); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

func TestRedactLeavesNoSecret(t *testing.T) {
	object, err := DecodeObject([]byte(secrets), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	redacted := secretive().Redact(object)
	if got, want := string(Append(nil, redacted)), `{"keys":[],"list":[{},{}],"map":{},"name":"n"}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := string(Append(nil, object)); got != secrets {
		t.Errorf("the original became %s", got)
	}
}
