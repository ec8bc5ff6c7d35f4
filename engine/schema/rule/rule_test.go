package rule_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"marquee/engine/document"
	"marquee/engine/schema"
	"marquee/engine/schema/rule"
)

// shapes are two types whose objects have values of every kind.
const shapes = `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "x-resource": {"path": "things"},
"required": ["n"], "properties": {
	"n": {"type": "integer"}, "d": {"type": "number"}, "s": {"type": "string"}, "b": {"type": "boolean"},
	"begin": {"type": "string", "format": "date-time"}, "end": {"type": "string", "format": "date-time"}, "day": {"type": "string", "format": "date"},
	"thing": {"x-ref": "things"}, "any": {}, "either": {"type": ["string", "integer"]}, "with-hyphen": {"type": "integer"},
	"password": {"type": "string", "x-secret": true}, "pin": {"type": "string", "writeOnly": true}, "worth": {"type": "integer", "x-derived": true},
	"list": {"type": "array", "items": {"type": "integer"}}, "words": {"type": "array", "items": {"type": "string"}},
	"map": {"type": "object", "additionalProperties": {"type": "integer"}}, "free": {"type": "object"},
	"keys": {"type": "object", "additionalProperties": {"type": "string", "x-secret": true}},
	"defaulted": {"type": "integer", "default": 3},
	"inner": {"type": "object", "required": ["x"], "properties": {"x": {"type": "integer"}, "y": {"type": "string"}, "secret": {"type": "string", "x-secret": true}}},
	"items": {"type": "array", "items": {"type": "object", "required": ["price"], "properties": {"price": {"type": "number"}, "sku": {"type": "string"}, "node": {"$ref": "#/$defs/node"}}}}
}, "$defs": {"node": {"type": "object", "properties": {"value": {"type": "integer"}, "child": {"$ref": "#/$defs/node"}}}}}`

func shapeOf(t testing.TB, text string) *document.Shape {
	t.Helper()
	r, err := schema.Load(schema.Source{FS: fstest.MapFS{"things.json": {Data: []byte(text)}}})
	if err != nil {
		t.Fatal(err)
	}
	thing, _ := r.Type("things")
	return thing.Shape
}

func decode(t testing.TB, text string) map[string]any {
	t.Helper()
	object, err := document.DecodeObject([]byte(text), document.Limits{Depth: 64})
	if err != nil {
		t.Fatal(err)
	}
	return object
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// TestRules evaluates rules that hold for the first object, and not for the second one.
func TestRules(t *testing.T) {
	shape := shapeOf(t, shapes)
	for source, c := range map[string]struct{ holds, fails string }{
		`self.n > 2`:                                                                           {`{"n": 3}`, `{"n": 2}`},
		`self.n < 9223372036854775808.0`:                                                       {`{"n": 9223372036854774784}`, `{"n": 1e30}`},
		`has(self.d) && self.d > 1`:                                                            {`{"d": 2}`, `{"d": 1}`},
		`has(self.d) && self.d * 2.0 == 3.0`:                                                   {`{"d": 1.5}`, `{}`},
		`!has(self.d) || self.d < self.n`:                                                      {`{"n": 3, "d": 2.5}`, `{"n": 2, "d": 2.5}`},
		`self.?s.orValue("none") == "none"`:                                                    {`{}`, `{"s": "x"}`},
		`self.?b.orValue(false)`:                                                               {`{"b": true}`, `{}`},
		`!has(self.begin) || !has(self.end) || self.begin < self.end`:                          {`{"begin": "2026-01-01T00:00:00.000Z", "end": "2026-01-02T00:00:00.000Z"}`, `{"begin": "2026-01-01T00:00:00.000Z", "end": "2026-01-01T00:00:00.000Z"}`},
		`has(self.begin) && self.begin > now + duration("24h")`:                                {`{"begin": "2026-03-02T12:00:00.001Z"}`, `{"begin": "2026-03-02T12:00:00.000Z"}`},
		`has(self.day) && self.day > now`:                                                      {`{"day": "2026-03-02"}`, `{"day": "2026-03-01"}`},
		`has(self.day) && self.day.getDayOfWeek() in [0, 6]`:                                   {`{"day": "2026-03-01"}`, `{"day": "2026-03-02"}`},
		`has(self.thing) && self.thing == "a"`:                                                 {`{"thing": "a"}`, `{"thing": "b"}`},
		`has(self.any) && self.any.deep[0] == 1`:                                               {`{"any": {"deep": [1]}}`, `{"any": {"deep": []}}`},
		`has(self.either) && (self.either == "x" || self.either == 1)`:                         {`{"either": 1}`, `{"either": 2}`},
		"self.?`with-hyphen`.orValue(0) == 1":                                                  {`{"with-hyphen": 1}`, `{}`},
		`self.?list.orValue([]).all(i, i > 0)`:                                                 {`{"list": [1, 2]}`, `{"list": [1, 0]}`},
		`self.?list.orValue([]).sum() == 3`:                                                    {`{"list": [1, 2]}`, `{"list": []}`},
		`has(self.list) && self.list.max() - self.list.min() < 5`:                              {`{"list": [1, 5]}`, `{"list": [1, 6]}`},
		`self.?list.orValue([]).isSorted()`:                                                    {`{"list": [1, 2, 2]}`, `{"list": [2, 1]}`},
		`self.?words.orValue([]).map(w, w.lowerAscii()).isUnique()`:                            {`{"words": ["a", "b"]}`, `{"words": ["a", "A"]}`},
		`self.?words.orValue([]).exists_one(w, w.matches("^[a-z]+$"))`:                         {`{"words": ["a", "1"]}`, `{"words": ["a", "b"]}`},
		`has(self.s) && self.s.trim().substring(1, 3) == "bc" && self.s.indexOf("é") == -1`:    {`{"s": " abcd "}`, `{"s": "abcdé"}`},
		`has(self.map) && self.map.all(k, self.map[k] > 0) && "a" in self.map`:                 {`{"map": {"a": 1}}`, `{"map": {"a": 1, "b": 0}}`},
		`has(self.free) && self.free.x == "y"`:                                                 {`{"free": {"x": "y"}}`, `{"free": {"z": "y"}}`},
		`self.defaulted == 3`:                                                                  {`{"defaulted": 3}`, `{}`},
		`has(self.inner) && self.inner.x > 0 && self.inner.?y.hasValue()`:                      {`{"inner": {"x": 1, "y": ""}}`, `{"inner": {"x": 1}}`},
		`has(self.inner) && self.inner == oldSelf.?inner.orValue(self.inner)`:                  {`{"inner": {"x": 1, "secret": "new"}}`, `{"inner": {"x": 2}}`},
		`has(self.items) && self.items.map(i, i.price).sum() <= 3.0`:                           {`{"items": [{"price": 1}, {"price": 1.5}]}`, `{"items": [{"price": 1}, {"price": 2.5}]}`},
		`self.?items.orValue([]).all(i, !has(i.node) || i.node.?child.?value.orValue(0) == 0)`: {`{"items": [{"price": 1, "node": {"child": {}}}]}`, `{"items": [{"price": 1, "node": {"child": {"value": 1}}}]}`},
		`self.n >= oldSelf.n`:                                                                  {`{"n": 1}`, `{"n": 0}`},
		`self.objectState != "ACTIVE" || self.n > 0`:                                           {`{"n": 1}`, `{"n": 0}`},
		`"EDIT" in caller.permissions && caller.id == "ann" && self.n == 1`:                    {`{"n": 1}`, `{"n": 0}`},
		`[self, oldSelf].all(o, o.n == 1)`:                                                     {`{"n": 1}`, `{"n": 2}`},
	} {
		compiled, problems := rule.NewTypes(shape).Compile(shape, source, true)
		if len(problems) > 0 {
			t.Errorf("%s: %+v", source, problems)
			continue
		}
		for object, want := range map[string]bool{c.holds: true, c.fails: false} {
			in := &rule.Input{Self: decode(t, object), State: "ACTIVE", OldSelf: decode(t, `{"n": 1, "inner": {"x": 1, "secret": "old"}}`), OldState: "ACTIVE", Now: noon,
				Caller: func() rule.Caller { return rule.Caller{ID: "ann", Permissions: []string{"EDIT"}} }}
			if got, err := compiled.Holds(context.Background(), in); err != nil || got != want {
				t.Errorf("%s of %s: %v, %v", source, object, got, err)
			}
		}
	}
}

// TestRefusedRules compiles rules that cannot be.
func TestRefusedRules(t *testing.T) {
	shape := shapeOf(t, shapes)
	for source, want := range map[string]string{
		`self.n >`:                    `1:9 the rule ends too early`,
		`self.m > 1`:                  `1:5 there is no property m here`,
		`self.limit > 1`:              `1:5 there is no property limit here`,
		"self.n > 1 &&\n  self.m > 1": `2:7 there is no property m here`,
		`self.n`:                      `the rule is of type int`,
		`self.n > "a"`:                `1:8 > cannot be applied to (int, string)`,
		`self.password == "a"`:        `password cannot be read by a rule, because it is secret`,
		`self.inner.secret == "a"`:    `secret cannot be read by a rule, because it is secret`,
		`self.pin == "a"`:             `pin cannot be read by a rule, because it is writeOnly`,
		`self.worth > 1`:              `worth cannot be read by a rule, because it is derived`,
		`has(self.keys)`:              `keys cannot be read by a rule, because it can have values within it`,
		`self.thing.name == "a"`:      `a value of type string has no properties`,
		`type(self.n) == int`:         `there is no variable or function type`,
		`self.begin.getHours("Europe/Berlin") > 1`:                       `a value of type timestamp has no function getHours(string)`,
		`bytes("a") == b"a"`:                                             `there is no variable or function bytes`,
		`self.n > 1 && other`:                                            `there is no variable or function other`,
		`self.words.exists(w, w.matches(w))`:                             `1:32 the pattern of matches is computed`,
		`"a".matches("(")`:                                               `the pattern cannot be read`,
		`"a".matches("[a-z]{999}[0-9]{50}")`:                             `1:13 the pattern takes more than 1000 steps per character`,
		`self.list.all(self, self > 1)`:                                  `self is the name of a variable of all rules`,
		`self.d > 1.0`:                                                   `1:5 d is optional`,
		`has(self.items) && self.items.all(i, i.sku != "")`:              `1:39 sku is optional`,
		`self.n == 1 && google.protobuf.Timestamp{seconds: 1} == now`:    `there is no variable or function google.protobuf.Timestamp`,
		`[0]` + strings.Repeat(`.map(x, {x: [x]})`, 20) + `.size() == 1`: `1:13 a key of a map is computed`, // types that double
		`[1].first().hasValue()`:                                         `1:10 rules have no function first`,
		`b"" == b""`:                                                     `1:1 documents have no bytes`,
		`timestamp("x") < now`:                                           `this is no timestamp`,
		`self.n == 1 && ` + strings.Repeat("(", 200) + `true` + strings.Repeat(")", 200): `the rule is too large, or nested too deeply`,
		strings.Repeat("self.n == 1 && ", 400) + "true":                                  `the rule is too large`,
		`self.n > 1 # one`:               `1:12 the rule cannot be read at #`,
		`self.n > 1)`:                    `1:11 the rule cannot be read at )`,
		`self.n > 1 self.n`:              `1:12 the rule cannot be read at self`,
		`(self.n > 1`:                    `1:12 the rule ends too early`,
		`self.n > 1 && package`:          `1:15 package is a reserved word`,
		`self.n > 99999999999999999999`:  `the number is out of range`,
		`has(1)`:                         `1:5 has needs a property of an object`,
		`self.words.all(1, true)`:        `1:16 a macro needs the name of a variable here`,
		`self.n.all(x, x > 1)`:           `a value of type int has no items`,
		`self.n.size() > 1`:              `1:12 a value of type int has no function size()`,
		`size(self.n) > 1`:               `1:5 size cannot be applied to (int)`,
		`self.n + "a" == "1a"`:           `1:8 + cannot be applied to (int, string)`,
		`self.n in "a"`:                  `1:8 in cannot be applied to (int, string)`,
		`!self.n`:                        `1:1 ! cannot be applied to (int)`,
		`self.n && true`:                 `the value is of type int, and must be of type bool`,
		`self.n.x > 1`:                   `a value of type int has no properties`,
		`self.n > 1 ? 1 : "a"`:           `cannot be applied to`,
		`duration("x") < duration("1h")`: `this is no duration`,
		`self.password == self.pin`:      `1:5 password cannot be read by a rule, because it is secret; 1:22 pin cannot be read by a rule, because it is writeOnly`,
	} {
		compiled, problems := rule.NewTypes(shape).Compile(shape, source, false)
		var got []string
		for _, p := range problems {
			place := ""
			if p.Line > 0 {
				place = string(rune('0'+p.Line%10)) + ":" + itoa(p.Column) + " "
			}
			got = append(got, place+p.Text)
		}
		if all := strings.Join(got, "; "); compiled != nil || !strings.Contains(all, want) {
			t.Errorf("%.80s: %s, want %s", source, all, want)
		}
	}
	if _, problems := rule.NewTypes(shape).Compile(shape, `self.n > oldSelf.n`, false); len(problems) != 1 || !strings.Contains(problems[0].Text, "items have no oldSelf") {
		t.Error(problems)
	}
}

// TestOneCall evaluates rules whose cost is that of one call, on long texts, and on values
// that are many times in themselves. They end long before the deadline.
func TestOneCall(t *testing.T) {
	shape := shapeOf(t, shapes)
	pair, join := strings.Repeat(`.map(l, [l, l])`, 30), strings.Repeat(`.map(l, l + l)`, 10)
	list := make([]any, 1000)
	for i := range list {
		list[i] = int64(i)
	}
	for _, source := range []string{
		`[[1]]` + pair + `.all(l, l == l)`,
		`[[1]]` + pair + `.all(l, l != l)`,
		`[[1]]` + pair + `.all(l, l in [l])`,
		`[[1]]` + pair + `.all(l, optional.of(l) == optional.of(l))`,
		`[self.?list.orValue([])]` + join + `.all(l, 7 in l)`,
		`[self.?any.orValue([])]` + join + `.all(l, 7 in l)`,
		`has(self.any) && self.any.exists(i, self.any.map(k, k) != self.any)`,
		// Each is a few steps, whatever the size of the text.
		`has(self.s) && has(self.list) && self.list.all(i, self.list.all(j, self.s.endsWith("b") || self.s.startsWith("b") || self.s > "b" || i >= 0))`,
		`has(self.s) && self.s.matches("[a-z]*b$")`,
	} {
		compiled, problems := rule.NewTypes(shape).Compile(shape, source, false)
		if len(problems) > 0 {
			t.Errorf("%s: %v", source, problems)
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if holds, err := compiled.Holds(ctx, &rule.Input{Self: map[string]any{"list": list, "any": list, "s": strings.Repeat("a", 1<<20)}}); holds || !errors.Is(err, rule.ErrTooComplex) {
			t.Errorf("%s: %v, %v", source, holds, err)
		}
	}
}

// TestBudgetOfGoroutines evaluates a rule on several goroutines, as a batch does: nothing that
// they spend is lost.
func TestBudgetOfGoroutines(t *testing.T) {
	shape := shapeOf(t, shapes)
	compiled, problems := rule.NewTypes(shape).Compile(shape, `self.n >= 0`, false)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	const goroutines, evaluations = 4, 20_000
	var budget rule.Budget
	var running sync.WaitGroup
	for range goroutines {
		running.Go(func() {
			in := &rule.Input{Self: map[string]any{"n": int64(1)}, Budget: &budget}
			for range evaluations {
				if holds, err := compiled.Holds(t.Context(), in); !holds || err != nil {
					t.Error(holds, err)
					return
				}
			}
		})
	}
	running.Wait()
	if want := goroutines * evaluations * compiled.Bound(); budget.Spent() != want {
		t.Errorf("spent %d instead of %d", budget.Spent(), want)
	}
}

// TestMapsHaveAnOrder evaluates a rule that depends on the order of keys.
func TestMapsHaveAnOrder(t *testing.T) {
	shape := shapeOf(t, shapes)
	compiled, problems := rule.NewTypes(shape).Compile(shape, `has(self.map) && self.map.map(k, k)[0] == "a"`, false)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for range 100 {
		if holds, err := compiled.Holds(context.Background(), &rule.Input{Self: decode(t, `{"map": {"c": 1, "b": 2, "a": 3, "d": 4}}`)}); !holds || err != nil {
			t.Fatal(holds, err)
		}
	}
}

func itoa(n int) string {
	return strings.TrimLeft(string([]byte{byte('0' + n/100), byte('0' + n/10%10), byte('0' + n%10)}), "0")
}

// TestCostIsCounted ends a rule whose lists are longer than its author may have thought.
func TestCostIsCounted(t *testing.T) {
	shape := shapeOf(t, shapes)
	compiled, problems := rule.NewTypes(shape).Compile(shape, `has(self.list) && self.list.all(i, self.list.all(j, self.list.all(k, i + j + k > 0)))`, false)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	list := make([]any, 3000)
	for i := range list {
		list[i] = int64(i + 1)
	}
	if holds, err := compiled.Holds(context.Background(), &rule.Input{Self: map[string]any{"list": list}}); holds || !errors.Is(err, rule.ErrTooComplex) {
		t.Errorf("%v, %v", holds, err)
	}
	if holds, err := compiled.Holds(context.Background(), &rule.Input{Self: map[string]any{"list": list[:10]}}); !holds || err != nil {
		t.Errorf("%v, %v", holds, err)
	}
	bounded := strings.Replace(shapes, `"list": {"type": "array",`, `"list": {"type": "array", "maxItems": 3000,`, 1)
	shape = shapeOf(t, bounded)
	_, problems = rule.NewTypes(shape).Compile(shape, `has(self.list) && self.list.all(i, self.list.all(j, self.list.all(k, i + j + k > 0)))`, false)
	if len(problems) != 1 || !strings.Contains(problems[0].Text, "steps for one object") {
		t.Error(problems)
	}
}

// TestOptionalsHaveSizes compiles rules that loop over arrays which can be missing: they count
// with as many items as those that are asked for.
func TestOptionalsHaveSizes(t *testing.T) {
	const loops = `self.?list.orValue([]).all(i, self.?list.orValue([]).all(j, self.?list.orValue([]).all(k, i + j + k > 0)))`
	bounded := func(items string) string {
		return strings.Replace(shapes, `"list": {"type": "array",`, `"list": {"type": "array", "maxItems": `+items+`,`, 1)
	}
	for _, c := range []struct {
		shapes, source string
		accepted       bool
	}{
		{shapes, loops, true},
		{shapes, `self.?items.orValue([]).all(i, self.?items.orValue([]).exists_one(j, i.?sku == j.?sku))`, true},
		{shapes, `self.?items.optMap(l, l.all(i, l.all(j, i.price == j.price || i.?sku != j.?sku))).orValue(true)`, true},
		{bounded("20"), loops, true},
		{bounded("3000"), loops, false},
	} {
		shape := shapeOf(t, c.shapes)
		if _, problems := rule.NewTypes(shape).Compile(shape, c.source, false); (len(problems) == 0) != c.accepted {
			t.Errorf("%s: %v", c.source, problems)
		}
	}
}
