package query

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"marquee/engine/document"
	"marquee/engine/message"
)

var noon = time.Date(2030, 1, 31, 12, 0, 0, 0, time.UTC)

var sampleFields = map[string]Field{
	"id":       {System: ID, Kind: String},
	"name":     {Path: []Step{{Name: "name"}}, Kind: String},
	"order.id": {Path: []Step{{Name: "order"}}, Kind: String},
	"size":     {Path: []Step{{Name: "size"}}, Kind: Number},
	"on":       {Path: []Step{{Name: "on"}}, Kind: Boolean},
	"at":       {Path: []Step{{Name: "at"}}, Kind: Time},
	"labels":   {Path: []Step{{Name: "labels", Array: true}}, Kind: String},
	"address":  {Path: []Step{{Name: "address"}}, Kind: Object},
}

func resolveSample(parameter, name string) (Field, error) {
	field, ok := sampleFields[name]
	if !ok {
		return Field{}, message.FieldUnknown.Error(message.Params{"parameter": parameter, "value": name, "type": "samples"})
	}
	return field, nil
}

var wheres = []string{
	``, ` ; `, `name=x`, `name = x ; size>=2;`, `name!=x`, `size<1.5`, `size<=-0`, `size>1e3`, `on=true`, `on=1`, `size=NaN`, `size=0x1p4`,
	`size=1_0`, `size=9223372036854775807`, `size=1e400`, `name in a,b`, `name not in "a;b","c,d"`, `name in`, `name in a,`, `name IS NOT NULL`,
	`name is null`, `name is nul`, `address is null`, `address=x`, `name="a\"b\\"`, `name="`, `name="a" b`, `at>2030-01-01`,
	`at<=2030-01-01T00:00:00+02:00`, `at>3 days ago`, `at<1 year later`, `at>2000001 years later`, `at=now`, `order.id=x`, `order=x`,
	`labels=x`, `nosuch=1`, `=x`, `name`, `name~x`, `name=x name=y`, "name=\x00", "name=\xff", `name=é;size=1`, `nameis null`, `name=;name=`,
	strings.Repeat("name=x;", 101), "name in " + strings.Repeat("x,", 1001),
}

// FuzzParseWhere checks that a text is either refused with its position or
// parsed into conditions within the limits that a store can evaluate.
func FuzzParseWhere(f *testing.F) {
	for _, where := range wheres {
		f.Add(where)
	}
	f.Fuzz(func(t *testing.T, text string) {
		where, err := ParseWhere(text, resolveSample, noon)
		if err != nil {
			checkMalformed(t, err, text)
			return
		}
		all := where.(And)
		if len(all) > MaxConditions {
			t.Fatalf("%d conditions", len(all))
		}
		values := 0
		for _, condition := range all {
			values += checkCondition(t, condition)
		}
		if values > MaxValues+MaxConditions {
			t.Fatalf("%d values", values)
		}
		// A trailing semicolon changes nothing.
		again, err := ParseWhere(text+";", resolveSample, noon)
		if trimmed := strings.TrimRight(text, " "); err == nil && trimmed != "" && len(again.(And)) != len(all) {
			t.Fatalf("%q has %d conditions, with a semicolon %d", text, len(all), len(again.(And)))
		}
	})
}

func checkMalformed(t *testing.T, err error, text string) {
	t.Helper()
	var fault *message.Error
	if !errors.As(err, &fault) || fault.Kind != message.Malformed || len(fault.Messages) != 1 {
		t.Fatalf("%q: %#v", text, err)
	}
	m := fault.Messages[0]
	if name := m.Param("parameter"); name == nil || name == "" {
		t.Fatalf("%q: %v names no parameter", text, err)
	}
	if at, given := m.Param("position").(int); given && (at < 1 || at > utf8.RuneCountInString(text)+1) {
		t.Fatalf("%q: character %d", text, at)
	}
}

// checkCondition checks that the values of a condition are of the field's kind,
// and counts them.
func checkCondition(t *testing.T, e Expr) int {
	t.Helper()
	switch e := e.(type) {
	case Not:
		return checkCondition(t, e.Of)
	case Null:
		return 0
	case Compare:
		if e.Op == NotEqual {
			t.Fatalf("%v is not the negation of an equality", e)
		}
		checkValue(t, e.Field, e.Value)
		return 1
	case In:
		if len(e.Values) == 0 {
			t.Fatal("a list without values")
		}
		for _, value := range e.Values {
			checkValue(t, e.Field, value)
		}
		return len(e.Values)
	}
	t.Fatalf("a condition of type %T", e)
	return 0
}

func checkValue(t *testing.T, field Field, value any) {
	t.Helper()
	ok := false
	switch v := value.(type) {
	case int64:
		ok = field.Kind == Number
	case float64:
		_, integral := document.Number(v).(int64)
		ok = field.Kind == Number && !math.IsNaN(v) && !math.IsInf(v, 0) && !integral
	case bool:
		ok = field.Kind == Boolean
	case string:
		switch field.Kind {
		case String:
			ok = utf8.ValidString(v) && !strings.Contains(v, "\x00")
		case Time:
			canonical, valid := document.CanonicalTime(v)
			ok = valid && canonical == v
		}
	}
	if !ok {
		t.Fatalf("%#v is no value of %v", value, field)
	}
}

// FuzzWords checks that a search for a word of a text looks for the term that
// was stored for it.
func FuzzWords(f *testing.F) {
	for _, text := range []string{"", "a b a", "Crème Brûlée", "straße", "ﬁne", "x\xffy", "日本語 テスト", "ǅ", "İstanbul", strings.Repeat("é", 100)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, word := range Words(text) {
			if word == "" || len(word) > MaxWordBytes || !utf8.ValidString(word) {
				t.Fatalf("%q has the word %q", text, word)
			}
			if again := Words(word); len(again) != 1 || again[0] != word {
				t.Fatalf("the word %q of %q is found as %q", word, text, again)
			}
		}
	})
}
