package document

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"marquee/engine/message"
)

func TestDecodeFaults(t *testing.T) {
	for _, c := range []struct {
		body string
		def  *message.Definition
		want string
	}{
		{`{"a":}`, message.BodySyntax, "column=6 line=1"},
		{"{\n \"é\": 1,\n \"b\" 2}", message.BodySyntax, "column=6 line=3"},
		{`{} x`, message.BodySyntax, "column=4 line=1"},
		{`{`, message.BodySyntax, "column=2 line=1"},
		{``, message.BodySyntax, "column=1 line=1"},
		{"{\"a\":\"\xff\"}", message.BodyEncoding, "column=7 line=1"},
		{`{"a":{"b":1,"b":2}}`, message.BodyDuplicateName, "column=13 field=/a/b line=1"},
		{`{"a/b":1,"a\u002fb":2}`, message.BodyDuplicateName, "column=10 field=/a~1b line=1"},
		{`{"a":[1e400]}`, message.ValueOutOfRange, "field=/a/0"},
		{`{"a":"\u0000"}`, message.ValueCharacter, "field=/a"},
		{`7`, message.BodyNotObject, ""},
	} {
		_, err := DecodeObject([]byte(c.body), DefaultLimits)
		checkMessage(t, c.body, err, c.def, c.want)
	}
}

func TestDecodeObjectsFaults(t *testing.T) {
	for _, c := range []struct {
		body string
		def  *message.Definition
		want string
	}{
		{`[{"a":1},{"a":[1,1e400]}]`, message.ValueOutOfRange, "field=/a/1 index=1"},
		{`[{"a":1},{"\u0000":1}]`, message.ValueCharacter, "field=/\x00 index=1"},
		{`[{"a":1},{"b":{"a":1,"a":2}}]`, message.BodyDuplicateName, "column=22 field=/b/a index=1 line=1"},
		{`[{},7]`, message.BodyNotObjects, "index=1"},
		{`7`, message.BodyNotObjects, ""},
		{`[{}`, message.BodySyntax, "column=4 line=1"},
		{`[{}] []`, message.BodySyntax, "column=6 line=1"},
		{`{} []`, message.BodySyntax, "column=4 line=1"},
	} {
		_, _, err := DecodeObjects([]byte(c.body), DefaultLimits)
		checkMessage(t, c.body, err, c.def, c.want)
	}
}

// checkMessage checks that an error has one message with these parameters.
func checkMessage(t *testing.T, what string, err error, def *message.Definition, want string) {
	t.Helper()
	var fault *message.Error
	if !errors.As(err, &fault) || len(fault.Messages) != 1 || fault.Messages[0].Definition() != def {
		t.Errorf("%q: %v, want %s", what, err, def.Code)
		return
	}
	params := fault.Messages[0].Params()
	var got []string
	for _, name := range slices.Sorted(maps.Keys(params)) {
		got = append(got, fmt.Sprintf("%s=%v", name, params[name]))
	}
	if got := strings.Join(got, " "); got != want {
		t.Errorf("%q: %s with %s, want %s", what, def.Code, got, want)
	}
}

// Input at a limit is accepted, and input just above it is rejected.
func TestDecodeLimits(t *testing.T) {
	object := `{"a":"` + strings.Repeat("x", 92) + `"}`
	for _, c := range []struct {
		name, body string
		limits     Limits
		def        *message.Definition
	}{
		{"depth", strings.Repeat("[", 64) + strings.Repeat("]", 64), Limits{}, nil},
		{"depth", strings.Repeat("[", 65) + strings.Repeat("]", 65), Limits{}, message.BodyTooDeep},
		{"depth, not closed", strings.Repeat("[", 100_000), Limits{}, message.BodyTooDeep},
		{"values", `[1,[2]]`, Limits{Values: 4}, nil},
		{"values", `[1,[2]]`, Limits{Values: 3}, message.TooManyValues},
	} {
		_, err := Decode([]byte(c.body), c.limits)
		checkLimit(t, c.name, err, c.def)
	}
	for _, c := range []struct {
		name, body string
		limits     Limits
		def        *message.Definition
	}{
		{"objects", `[{},{}]`, Limits{Objects: 2}, nil},
		{"objects", `[{},{},{}]`, Limits{Objects: 2}, message.TooManyObjects},
		{"one object", object, Limits{Object: 100}, nil},
		{"one object", object, Limits{Object: 99}, message.ObjectTooLarge},
		{"first object", "[" + object + "]", Limits{Object: 100}, nil},
		{"second object", "[" + object + ",\n  " + object + " ]", Limits{Object: 100}, nil},
		{"second object", "[{}," + object + "]", Limits{Object: 99}, message.ObjectTooLarge},
	} {
		_, _, err := DecodeObjects([]byte(c.body), c.limits)
		checkLimit(t, c.name, err, c.def)
	}
}

func checkLimit(t *testing.T, name string, err error, def *message.Definition) {
	t.Helper()
	if def == nil && err != nil || def != nil && !def.Is(err) {
		t.Errorf("%s: %v", name, err)
	}
}

// A number has one form, regardless of its spelling.
func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		text string
		want any
		form string
	}{
		{"-0.0", int64(0), "0"},
		{"1e0", int64(1), "1"},
		{"9007199254740993", int64(9007199254740993), "9007199254740993"},
		{"1e17", int64(1e17), "100000000000000000"},
		{"-9223372036854775808.0", int64(math.MinInt64), "-9223372036854775808"},
		{"9223372036854775808", 9223372036854775808.0, "9223372036854776000"},
		{"1e20", 1e20, "100000000000000000000"},
		{"1E21", 1e21, "1e+21"},
		{"0.0000001", 1e-7, "1e-07"},
		{"5e-324", 5e-324, "5e-324"},
	} {
		value, err := Decode([]byte(c.text), Limits{})
		if err != nil || value != c.want {
			t.Errorf("%s is %#v (%v), want %#v", c.text, value, err, c.want)
		}
		if form := string(Append(nil, value)); form != c.form {
			t.Errorf("%s is written %s", c.text, form)
		}
	}
}
