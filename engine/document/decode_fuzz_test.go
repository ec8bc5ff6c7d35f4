package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"marquee/engine/message"
)

var bodies = []string{
	`null`, `true`, ` false `, `0`, `-0`, `-0.0`, `1`, `1.0`, `1e0`, `0.1`, `-1.5e-7`, `1e21`, `1e400`, `-1e400`, `1e-400`,
	`9007199254740991`, `9007199254740993`, `9007199254740993.0`, `1e17`, `1e18`, `123456789012345680000`,
	`9223372036854775807`, `-9223372036854775808`, `9223372036854775808`, `18446744073709551615`, `9.3e18`,
	`""`, `"a"`, `"\u0000"`, `"\ud83d\ude00"`, `"\ud800"`, `"\u2028<&>"`, "\"\x7f\"", `"\\\"\b\f\n\r\t\/"`, "\"\xff\"", `"a\\"`, `{"a\\":"b\\\\","c\"":"\\\""}`,
	`[]`, `[1,[2,[3]]]`, `{}`, `{"a":1,"b":{"c":[null,{"d":"e"}]}}`, `{"":0}`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`,
	`{"a~/b":{"c":1e999}}`, `{"\u0000":1}`, `[{"a":1},{"a":"\u0000"}]`, `[{"a":1},2]`, `[{}] x`, `{} {}`, "\ufeff{}",
	`{`, `[1,]`, `{"a"}`, `{"a":}`, `01`, `+1`, `.5`, `1.`, `NaN`, `'a'`, "\"a\nb\"", `/**/1`, ``, " \n\t\r",
	strings.Repeat("[", 70), strings.Repeat(`{"a":`, 64) + "1" + strings.Repeat("}", 64), strings.Repeat("[", 65) + strings.Repeat("]", 65),
}

// FuzzDecode compares Decode with encoding/json, if both accept the input, and
// with Append.
func FuzzDecode(f *testing.F) {
	for _, body := range bodies {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		value, err := Decode(data, DefaultLimits)
		checkFault(t, err)
		peer, peerErr := peerDecode(data)
		if err != nil {
			return
		}
		if peerErr != nil {
			t.Fatalf("accepted, and encoding/json says %v", peerErr)
		}
		canonical := Append(nil, value)
		if peer := Append(nil, fromPeer(peer)); !bytes.Equal(canonical, peer) {
			t.Fatalf("read as %s, by encoding/json as %s", canonical, peer)
		}
		again, err := Decode(canonical, DefaultLimits)
		if err != nil {
			t.Fatalf("%s is not read again: %v", canonical, err)
		}
		if !Equal(value, again) {
			t.Fatalf("%#v became %#v", value, again)
		}
		if copied := Clone(value); !Equal(value, copied) || !bytes.Equal(canonical, Append(nil, copied)) {
			t.Fatalf("the copy of %s differs", canonical)
		}
		checkScan(t, canonical, value)
	})
}

// checkFault checks that an error has messages.
func checkFault(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	var fault *message.Error
	if !errors.As(err, &fault) || len(fault.Messages) == 0 {
		t.Fatalf("an error without a message: %#v", err)
	}
	switch fault.Kind {
	case message.Malformed, message.Invalid, message.TooLarge:
	default:
		t.Fatalf("an error of kind %d: %v", fault.Kind, err)
	}
	for _, m := range fault.Messages {
		if field, given := m.Param("field").(string); given && field != "" && field[0] != '/' {
			t.Fatalf("%q is not a JSON Pointer", field)
		}
		if line, given := m.Param("line").(int); given && line < 1 {
			t.Fatalf("line %d", line)
		}
	}
}

func peerDecode(data []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("trailing bytes")
	}
	return value, nil
}

// fromPeer converts a result of encoding/json to a document.
func fromPeer(value any) any {
	switch v := value.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		n, _ := v.Float64()
		return n
	case []any:
		for i := range v {
			v[i] = fromPeer(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = fromPeer(v[name])
		}
	}
	return value
}

// checkScan compares the functions that scan canonical bytes with the decoded
// value.
func checkScan(t *testing.T, doc []byte, value any) {
	t.Helper()
	if end := Skip(doc, 0); end != len(doc) {
		t.Fatalf("Skip ends at %d of %s", end, doc)
	}
	// Another value follows, so that a scan that is too long fails.
	list := append(append([]byte("["), doc...), `,"next"]`...)
	if end := Skip(list, 1); end != 1+len(doc) {
		t.Fatalf("Skip ends at %d of %s", end, list)
	}
	switch v := value.(type) {
	case string:
		if text := Text(doc, 0); text != v {
			t.Fatalf("Text reads %q from %s", text, doc)
		}
		if end := SkipString(list, 1); end != 1+len(doc) {
			t.Fatalf("SkipString ends at %d of %s", end, list)
		}
	case map[string]any:
		for name, member := range v {
			start, end, ok := Member(doc, 0, name)
			if !ok {
				t.Fatalf("Member does not find %q in %s", name, doc)
			}
			if want := Append(nil, member); !bytes.Equal(doc[start:end], want) {
				t.Fatalf("Member %q of %s is %s", name, doc, doc[start:end])
			}
			if _, there := v[name+"?"]; !there {
				if _, _, found := Member(doc, 0, name+"?"); found {
					t.Fatalf("Member finds %q in %s", name+"?", doc)
				}
			}
			checkScan(t, doc[start:end], member)
		}
	default:
		if text := Text(doc, 0); text != "" {
			t.Fatalf("Text reads %q from %s", text, doc)
		}
		if _, _, found := Member(doc, 0, "a"); found {
			t.Fatalf("Member finds something in %s", doc)
		}
	}
}

// FuzzDecodeObjects checks the limits of a body of objects.
func FuzzDecodeObjects(f *testing.F) {
	for _, body := range bodies {
		f.Add([]byte(body), 5, 40, 3, 20)
	}
	f.Add([]byte(`[{"a":"0123456789"},{"a":"0123456789"}]`), 0, 0, 0, 18)
	f.Add([]byte(`[{},{},{},{}]`), 0, 0, 3, 0)
	f.Add([]byte(`[{"a":[[1]]}]`), 3, 0, 0, 0)
	f.Fuzz(func(t *testing.T, data []byte, depth, values, count, size int) {
		limits := Limits{Depth: 1 + abs(depth)%64, Values: abs(values) % 1000, Objects: abs(count) % 10, Object: abs(size) % 200}
		objects, single, err := DecodeObjects(data, limits)
		checkFault(t, err)
		if err != nil {
			return
		}
		var whole any = objects[:0:0]
		if single {
			if len(objects) != 1 {
				t.Fatalf("one object became %d", len(objects))
			}
			whole = objects[0]
		} else {
			whole = asList(objects)
		}
		canonical := Append(nil, whole)
		loose, err := Decode(data, Limits{})
		if err != nil || !Equal(loose, whole) {
			t.Fatalf("Decode reads %#v (%v), DecodeObjects %s", loose, err, canonical)
		}
		if limits.Objects > 0 && !single && len(objects) > limits.Objects {
			t.Fatalf("%d objects", len(objects))
		}
		if d := nesting(whole); d > limits.Depth {
			t.Fatalf("%d levels", d)
		}
		for _, object := range objects {
			// Canonical numbers can be longer than the input (1e20), so that only
			// documents without numbers never grow.
			if size := len(Append(nil, object)); limits.Object > 0 && size > limits.Object && !bytes.ContainsAny(data, "0123456789") {
				t.Fatalf("an object of %d bytes", size)
			}
		}
	})
}

func asList(objects []map[string]any) []any {
	list := make([]any, len(objects))
	for i, object := range objects {
		list[i] = object
	}
	return list
}

func nesting(value any) int {
	deepest := 0
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			deepest = max(deepest, nesting(item))
		}
		return deepest + 1
	case map[string]any:
		for _, member := range v {
			deepest = max(deepest, nesting(member))
		}
		return deepest + 1
	}
	return 0
}

func abs(n int) int { return max(n, -(n + 1)) }
