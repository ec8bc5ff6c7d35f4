package query

import (
	"errors"
	"fmt"
	"testing"

	"marquee/engine/message"
)

func TestParseWhere(t *testing.T) {
	name, size, at := sampleFields["name"], sampleFields["size"], sampleFields["at"]
	for _, c := range []struct {
		text string
		want And
	}{
		{``, nil},
		{` name = a b ;`, And{Compare{name, Equal, "a b"}}},
		{`name!=x;size>=2`, And{Not{Compare{name, Equal, "x"}}, Compare{size, GreaterOrEqual, int64(2)}}},
		{`name="a;b,\"c\"\\" ; size<1.5`, And{Compare{name, Equal, `a;b,"c"\`}, Compare{size, Less, 1.5}}},
		{`name in a, "b,c" ,d`, And{In{name, []any{"a", "b,c", "d"}}}},
		{`name NOT IN a`, And{Not{In{name, []any{"a"}}}}},
		{`name is null;size is not null`, And{Null{name}, Not{Null{size}}}},
		{`at>1 month ago`, And{Compare{at, Greater, "2029-12-31T12:00:00.000Z"}}},
		{`at<=2 hours later`, And{Compare{at, LessOrEqual, "2030-01-31T14:00:00.000Z"}}},
		{`at=2030-01-01`, And{Compare{at, Equal, "2030-01-01T00:00:00.000Z"}}},
	} {
		got, err := ParseWhere(c.text, resolveSample, noon)
		if err != nil || fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", c.want) {
			t.Errorf("%q: %#v (%v), want %#v", c.text, got, err, c.want)
		}
	}
}

func TestParseWhereFaults(t *testing.T) {
	for _, c := range []struct {
		text     string
		def      *message.Definition
		position int
		expected string
	}{
		{`=x`, message.WhereSyntax, 1, "a field"},
		{`name==x`, message.WhereSyntax, 6, "a value; quote one that begins with an operator"},
		{`name<>x`, message.WhereSyntax, 6, "a value; quote one that begins with an operator"},
		{`name`, message.WhereSyntax, 5, "an operator"},
		{`name=é;size ~ 1`, message.WhereSyntax, 13, "an operator"},
		{`name is x`, message.WhereSyntax, 9, "null or not null"},
		{`name not x`, message.WhereSyntax, 10, "in"},
		{`name="a`, message.WhereSyntax, 8, "a closing quote"},
		{`name="a" b`, message.WhereSyntax, 10, "a semicolon"},
		{`name=x;;name=y`, message.WhereSyntax, 8, "a field"},
		{`nosuch=1`, message.FieldUnknown, 0, ""},
		{`address=1`, message.ParameterInvalid, 0, "compared only with null for the field address"},
		{`size=0x1p4`, message.ParameterInvalid, 0, "a number for the field size"},
		{`size=NaN`, message.ParameterInvalid, 0, "a number for the field size"},
		{`size=`, message.ParameterInvalid, 0, "a number for the field size"},
		{`on=1`, message.ParameterInvalid, 0, "true or false for the field on"},
		{`at>3 decades ago`, message.ParameterInvalid, 0, "a date, a date-time, or a time such as 3 days ago for the field at"},
		{`at>9999 years later`, message.ParameterInvalid, 0, "a date, a date-time, or a time such as 3 days ago for the field at"},
		{"name=\x00", message.ParameterInvalid, 0, "text for the field name"},
	} {
		_, err := ParseWhere(c.text, resolveSample, noon)
		var fault *message.Error
		if !c.def.Is(err) || !errors.As(err, &fault) {
			t.Errorf("%q: %v, want %s", c.text, err, c.def.Code)
			continue
		}
		m := fault.Messages[0]
		if at, _ := m.Param("position").(int); at != c.position {
			t.Errorf("%q: character %d, want %d", c.text, at, c.position)
		}
		if expected, _ := m.Param("expected").(string); expected != c.expected {
			t.Errorf("%q: expected %q, want %s", c.text, expected, c.expected)
		}
	}
}
