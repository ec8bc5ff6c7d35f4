package query

import (
	"reflect"
	"testing"
)

var (
	first  = Compare{Field: Field{System: State}, Value: "ACTIVE"}
	second = Null{Field{System: Warnings}}
	third  = Contains{sampleFields["name"], "x"}
)

func TestConjuncts(t *testing.T) {
	for _, c := range []struct {
		name string
		of   Expr
		want []Expr
	}{
		{"no condition", nil, nil},
		{"all", All, nil},
		{"a leaf", first, []Expr{first}},
		{"nested conditions in order", And{first, And{nil, And{second}, All}, third}, []Expr{first, second, third}},
		{"an or is one condition", And{Or{first, And{second, third}}}, []Expr{Or{first, And{second, third}}}},
		{"a negation is one condition", Not{And{first, second}}, []Expr{Not{And{first, second}}}},
	} {
		if got := Conjuncts(c.of); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestIsAllIsNone(t *testing.T) {
	for _, c := range []struct {
		of        Expr
		all, none bool
	}{
		{nil, true, false},
		{All, true, false},
		{And{And{}, nil}, true, false},
		{None, false, true},
		{first, false, false},
		{And{first}, false, false},
		{Or{first}, false, false},
		{Not{All}, false, false},
	} {
		if IsAll(c.of) != c.all || IsNone(c.of) != c.none {
			t.Errorf("%#v: IsAll %t, IsNone %t; want %t, %t", c.of, IsAll(c.of), IsNone(c.of), c.all, c.none)
		}
	}
}

func TestBoth(t *testing.T) {
	for _, c := range []struct{ a, b, want Expr }{
		{first, second, And{first, second}},
		{nil, first, first},
		{first, nil, first},
		{All, first, first},
		{first, All, first},
		{first, None, None},
		{None, first, None},
		{All, None, None},
		{None, All, None},
	} {
		if got := Both(c.a, c.b); !reflect.DeepEqual(got, c.want) {
			t.Errorf("both of %v and %v: %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

func TestTermsOf(t *testing.T) {
	tags := Field{Path: []Step{{Name: "tags", Array: true}}, Term: "tags"}
	labels := sampleFields["labels"] // not kept as terms
	for _, c := range []struct {
		of   Expr
		want bool
	}{
		{Term{Key: "q", Value: "word", Prefix: true}, true},
		{Compare{tags, Equal, "a"}, true},
		{Compare{tags, Less, "a"}, false},
		{Compare{tags, Equal, int64(1)}, false},
		{Compare{labels, Equal, "a"}, false},
		{In{tags, []any{"a", "b"}}, true},
		{In{tags, []any{"a", true}}, false},
		{In{labels, []any{"a"}}, false},
		{Not{Compare{tags, Equal, "a"}}, false},
		{nil, false},
	} {
		if _, got := TermsOf(c.of); got != c.want {
			t.Errorf("%v: %t, want %t", c.of, got, c.want)
		}
	}
}
