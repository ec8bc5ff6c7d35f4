package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"

	"marquee/engine/schema"
	"marquee/integration/process"
	"marquee/integration/service"
	"marquee/resources"
)

// applicatorCase wraps a schema into one applicator.
type applicatorCase struct {
	name   string
	schema func(inner any) map[string]any
	// value is an instance around one of the inner schema, and at leads to it.
	value func(inner any) any
	at    []string
	// inPlace reports whether the applicator concerns the value itself.
	inPlace bool
	// variant cases are not combined with others.
	variant bool
}

// absent is a value that is left out.
type absent struct{}

func memberValue(name string, more ...string) func(any) any {
	return func(v any) any {
		object := map[string]any{}
		for _, other := range more {
			object[other] = true
		}
		if v != (any)(absent{}) {
			object[name] = v
		}
		return object
	}
}

func itemValue(before ...any) func(any) any {
	return func(v any) any { return append(slices.Clone(before), v) }
}

func itself(v any) any { return v }

// keyword makes a schema of a type and one more keyword.
func keyword(typeName, keyword string, build func(inner any) any, more ...any) func(any) map[string]any {
	return func(inner any) map[string]any {
		made := map[string]any{keyword: build(inner)}
		if typeName != "" {
			made["type"] = typeName
		}
		for i := 0; i < len(more); i += 2 {
			made[more[i].(string)] = more[i+1]
		}
		return made
	}
}

func listOf(v any) any { return []any{v} }

func named(name string) func(any) any {
	return func(v any) any { return map[string]any{name: v} }
}

var flag = map[string]any{"type": "boolean"}

// applicatorCases hold every keyword of draft 2020-12 that applies schemas, and
// the references that reach one; $ref and $defs are made by the test.
var applicatorCases = []applicatorCase{
	{"properties", keyword("object", "properties", named("m")), memberValue("m"), []string{"m"}, false, false},
	{"patternProperties", keyword("object", "patternProperties", named("^m")), memberValue("m1"), []string{"m1"}, false, false},
	{"two patterns", keyword("object", "patternProperties", func(v any) any { return map[string]any{"^m": v, "1$": map[string]any{}} }), memberValue("m1"), []string{"m1"}, false, true},
	{"declared and matched", keyword("object", "patternProperties", named("^m"), "properties", map[string]any{"m1": map[string]any{}}), memberValue("m1"), []string{"m1"}, false, true},
	{"additionalProperties", keyword("object", "additionalProperties", itself), memberValue("m"), []string{"m"}, false, false},
	{"additional to others", keyword("object", "additionalProperties", itself, "properties", named("t")(flag)), memberValue("m", "t"), []string{"m"}, false, true},
	{"unevaluatedProperties", keyword("object", "unevaluatedProperties", itself, "allOf", listOf(named("properties")(named("t")(flag)))), memberValue("m", "t"), []string{"m"}, false, false},
	{"dependentSchemas", keyword("object", "dependentSchemas", func(v any) any { return named("t")(named("properties")(named("m")(v))) }, "properties", named("t")(flag)), memberValue("m", "t"), []string{"m"}, false, false},
	{"propertyNames", keyword("object", "propertyNames", itself), memberValue("m"), []string{"m"}, false, false},
	{"items", keyword("array", "items", itself), itemValue(), []string{"0"}, false, false},
	{"prefixItems", keyword("array", "prefixItems", listOf), itemValue(), []string{"0"}, false, false},
	{"second of prefixItems", keyword("array", "prefixItems", func(v any) any { return []any{flag, v} }, "items", false), itemValue(true), []string{"1"}, false, true},
	{"items after prefixItems", keyword("array", "items", itself, "prefixItems", []any{flag}), itemValue(true), []string{"1"}, false, true},
	{"contains", keyword("array", "contains", itself), itemValue(), []string{"0"}, false, false},
	{"unevaluatedItems", keyword("array", "unevaluatedItems", itself, "prefixItems", []any{flag}), itemValue(true), []string{"1"}, false, false},
	{"allOf", keyword("", "allOf", listOf), itself, nil, true, false},
	{"anyOf", keyword("", "anyOf", func(v any) any { return []any{v, map[string]any{"const": "another"}} }), itself, nil, true, false},
	{"oneOf", keyword("", "oneOf", func(v any) any { return []any{v, map[string]any{"const": "another"}} }), itself, nil, true, false},
	{"not", keyword("", "not", itself), itself, nil, true, false},
	{"if", keyword("", "if", itself), itself, nil, true, false},
	{"then", keyword("", "then", itself, "if", true), itself, nil, true, false},
	{"then, where if fails", keyword("", "then", itself, "if", false), itself, nil, true, true},
	{"else", keyword("", "else", itself, "if", false), itself, nil, true, false},
	{"contentSchema", keyword("", "contentSchema", itself), itself, nil, true, false},
	{"$ref", nil, itself, nil, true, false},
	{"$dynamicRef", func(any) map[string]any { return map[string]any{"$dynamicRef": "#/$defs/x"} }, itself, nil, true, false},
}

// annotated is one schema with an annotation under applicators.
type annotated struct {
	annotation, name string
	property         string
	// applied are the applicators, from the outside.
	applied []applicatorCase
	leaf    map[string]any
}

func (a annotated) wrap(v any) any {
	for _, c := range slices.Backward(a.applied) {
		v = c.value(v)
	}
	return v
}

func (a annotated) at() []string {
	at := []string{a.property}
	for _, c := range a.applied {
		at = append(at, c.at...)
	}
	return at
}

// pointer leads to the annotated value.
func (a annotated) pointer() string { return "/" + strings.Join(a.at(), "/") }

// shown finds the annotated value in an answer.
func (a annotated) shown(object any) (any, bool) {
	for _, token := range a.at() {
		switch v := object.(type) {
		case map[string]any:
			inner, there := v[token]
			if !there {
				return nil, false
			}
			object = inner
		case []any:
			i := int(token[0] - '0')
			if i >= len(v) {
				return nil, false
			}
			object = v[i]
		default:
			return nil, false
		}
	}
	return object, true
}

// annotationLeaves are schemas with one annotation each.
var annotationLeaves = map[string]map[string]any{
	"x-secret":      {"type": "string", "x-secret": true},
	"x-ref":         {"x-ref": "teams"},
	"x-ref object":  {"x-ref": map[string]any{"type": "teams", "form": "object"}},
	"x-lookup":      {"type": "object", "properties": map[string]any{"id": map[string]any{"type": "integer"}}, "x-lookup": "locations"},
	"x-complete":    {"type": "object", "x-complete": true, "properties": map[string]any{"k": map[string]any{"type": "array"}}},
	"x-immutable":   {"type": "string", "x-immutable": true},
	"x-transitions": {"type": "string", "x-transitions": map[string]any{"a": []any{"b"}}},
	"x-initial":     {"type": "string", "x-initial": []any{"a", "b"}},
	"x-default":     {"type": "string", "x-default": "caller"},
	"x-sequence":    {"type": "string", "x-sequence": map[string]any{"format": "A{n}"}},
	"x-derived":     {"type": "string", "x-derived": true},
	"x-personal":    {"type": "string", "x-personal": true},
	"readOnly":      {"type": "string", "readOnly": true},
	"writeOnly":     {"type": "string", "writeOnly": true},
	"default":       {"type": "string", "default": "set by default"},
}

const chunk = 30

// typesOf begins the names of the types of an annotation. No two annotations
// share a type, because a property that was served with one cannot always be
// served with another.
func typesOf(annotation string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return r
		}
		return -1
	}, annotation))
}

// generate makes the schemas of an annotation, chunk properties a type, but for
// those that are refused.
func generate(annotation string, refused map[string]string) (fstest.MapFS, map[string][]annotated) {
	folder, types := fstest.MapFS{}, map[string][]annotated{}
	chains := [][]applicatorCase{nil}
	for _, outer := range applicatorCases {
		chains = append(chains, []applicatorCase{outer})
		for _, inner := range applicatorCases {
			if !outer.variant && !inner.variant {
				chains = append(chains, []applicatorCase{outer, inner})
			}
		}
	}
	for n, part := range slices.Collect(slices.Chunk(chains, chunk)) {
		path := typesOf(annotation) + strconv.Itoa(n)
		properties, defs := map[string]any{}, map[string]any{}
		var cases []annotated
		for i, chain := range part {
			property := fmt.Sprintf("p%d", n*chunk+i)
			if _, no := refused[path+"/"+property]; no {
				continue
			}
			var names []string
			made := any(annotationLeaves[annotation])
			for k, applicator := range slices.Backward(chain) {
				names = append([]string{applicator.name}, names...)
				if applicator.schema != nil {
					made = applicator.schema(made)
					continue
				}
				def := fmt.Sprintf("%s-%d", property, k)
				defs[def] = made
				made = map[string]any{"$ref": "#/$defs/" + def}
			}
			properties[property] = made
			cases = append(cases, annotated{annotation, strings.Join(names, " / "), property, chain, annotationLeaves[annotation]})
		}
		text, err := json.Marshal(map[string]any{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
			"x-resource": map[string]any{"path": path}, "properties": properties, "$defs": defs})
		if err != nil {
			panic(err)
		}
		folder[path+".json"] = &fstest.MapFile{Data: text}
		types[path] = cases
	}
	return folder, types
}

// refusals loads the schemas until all that are refused are known, with the
// reasons: by type and property.
func refusals(t *testing.T, annotation string) map[string]string {
	t.Helper()
	refused := map[string]string{}
	for {
		folder, _ := generate(annotation, refused)
		_, err := resources.LoadSchemas(schema.Source{FS: folder})
		if err == nil {
			return refused
		}
		var problems schema.Problems
		if !errors.As(err, &problems) {
			t.Fatal(err)
		}
		before := len(refused)
		for _, p := range problems {
			property, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(p.Pointer, "/properties/"), "/$defs/"), "/")
			property, _, _ = strings.Cut(property, "-")
			if !strings.HasPrefix(property, "p") || p.Text == "" || p.Cure == "" {
				t.Fatalf("%v does not say which property, why, and what to do", p)
			}
			refused[strings.TrimSuffix(p.File, ".json")+"/"+property] = p.String()
		}
		if len(refused) == before {
			t.Fatalf("refused though left out: %v", problems)
		}
	}
}

// TestAnnotations puts each annotation under each applicator, and each two of
// them: it works there, or is refused with the reason.
func TestAnnotations(t *testing.T) {
	process.SkipSequential(t)
	folders, types := map[string]fs.FS{}, map[string]map[string][]annotated{}
	for i, annotation := range slices.Sorted(maps.Keys(annotationLeaves)) {
		if testing.Short() && i%3 > 0 {
			continue
		}
		refused := refusals(t, annotation)
		_, all := generate(annotation, nil)
		for place, reason := range refused {
			checkRefusal(t, all, place, reason)
		}
		folders[annotation], types[annotation] = generate(annotation, refused)
	}
	service.EachStore(t, func(t *testing.T, fresh service.NewStore) { testAnnotations(t, fresh, folders, types) })
}

func testAnnotations(t *testing.T, fresh service.NewStore, folders map[string]fs.FS, types map[string]map[string][]annotated) {
	s := service.New(t, fresh)
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	c := &service.Conversation{T: t, Service: s, Token: token}
	c.Send("POST", "/api/v1/teams/north?context=main", `{"name": "North"}`, 201, "")
	c.Send("POST", "/api/v1/roles/reader?context=main", `{"name": "Reader", "scope": "NETWORK"}`, 201, "")
	c.Send("POST", "/api/v1/users/kari", `{"username": "kari", "password": "a password to test with",
		"userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "reader"}]}]}}`, 201, "")
	reader, err := s.SignIn("kari")
	if err != nil {
		t.Fatal(err)
	}
	for _, annotation := range slices.Sorted(maps.Keys(types)) {
		s.Stop()
		s.Schemas = []fs.FS{folders[annotation]}
		s.Start()
		worked := 0
		for _, path := range slices.Sorted(maps.Keys(types[annotation])) {
			if cases := types[annotation][path]; len(cases) > 0 {
				annotationsWork(c, path, annotation, cases, reader)
				worked += len(cases)
			}
		}
		if worked < 20 {
			t.Errorf("%s works in %d places alone", annotation, worked)
		}
	}
	kept := service.AtRest(t, s.URI)
	if i := bytes.Index(kept, []byte("hidden value")); i >= 0 {
		t.Errorf("the store holds what it should not: %q", kept[max(0, i-300):min(len(kept), i+100)])
	}
}

// checkRefusal expects refusals only where they are allowed: of keywords that only test,
// of those that are not understood, and of the annotations that apply to declared
// properties or to members alone.
func checkRefusal(t *testing.T, types map[string][]annotated, place, reason string) {
	t.Helper()
	path, property, _ := strings.Cut(place, "/")
	for _, a := range types[path] {
		if a.property != property {
			continue
		}
		const tests = "not propertyNames contentSchema $dynamicRef"
		fine, last, plain := false, "", true
		for _, c := range a.applied {
			fine = fine || strings.Contains(tests, c.name)
			plain = plain && c.inPlace
			if !c.inPlace {
				last = c.name
			}
		}
		isItem := strings.Contains(strings.ToLower(last), "items") || last == "contains"
		switch a.annotation {
		case "x-immutable", "x-transitions", "x-initial", "x-default", "x-sequence", "x-derived":
			fine = fine || !plain
		case "x-secret", "x-personal", "readOnly", "writeOnly":
			fine = fine || isItem
		case "default":
			fine = fine || !plain && last != "properties" && last != "dependentSchemas"
		}
		if !fine {
			t.Errorf("%s under %s is refused: %s", a.annotation, a.name, reason)
		}
	}
}

// annotationsWork stores an object of a type, and checks that each annotation is
// obeyed.
func annotationsWork(c *service.Conversation, path, annotation string, cases []annotated, reader string) {
	c.Helper()
	url := "/api/v1/" + path + "/" + strings.ReplaceAll(annotation, " ", "-") + "?context=main"
	// post sends a value to each case, and gives the answer.
	post := func(status int, value func(a annotated) any) *service.Answer {
		c.Helper()
		object := map[string]any{}
		for _, a := range cases {
			if v := a.wrap(value(a)); v != (any)(absent{}) {
				object[a.property] = v
			}
		}
		body, err := json.Marshal(object)
		if err != nil {
			c.Fatal(err)
		}
		return c.Send("POST", url, string(body), status, "")
	}
	// each checks the value of each case in an answer.
	each := func(a *service.Answer, check func(a annotated, value any, there bool) bool) {
		c.Helper()
		object := a.JSON()
		for _, a := range cases {
			if value, there := a.shown(object); !check(a, value, there) {
				c.Errorf("%s under %s: the answer has %v", a.annotation, a.name, value)
			}
		}
	}
	// faults expects a fault with a code in each case.
	faults := func(a *service.Answer, code, below string) {
		c.Helper()
		found := map[string]string{}
		object, _ := a.JSON().(map[string]any)
		messages, _ := object["messages"].([]any)
		for _, m := range messages {
			fault, _ := m.(map[string]any)
			params, _ := fault["params"].(map[string]any)
			found[fmt.Sprint(params["field"])] = fmt.Sprint(fault["code"])
		}
		for _, a := range cases {
			if found[a.pointer()+below] != code {
				c.Errorf("%s under %s: no fault at %s, only %v", a.annotation, a.name, a.pointer()+below, found)
			}
		}
	}
	hidden := func(a annotated) any { return "hidden value of " + a.property }
	same := func(want any) func(annotated) any { return func(annotated) any { return want } }
	isAbsent := func(_ annotated, _ any, there bool) bool { return !there }
	switch annotation {
	case "x-secret":
		isShown := func(a annotated, value any, _ bool) bool { return value == hidden(a) }
		each(post(201, hidden), isShown)
		each(c.Send("GET", url, "", 200, ""), isShown)
		answer, err := c.Service.Send("GET", url, http.Header{"Authorization": {"Bearer " + reader}}, strings.NewReader(""))
		if err != nil || answer.Status != 200 {
			c.Fatal(err, answer)
		}
		each(answer, isAbsent)
		faults(post(422, same(true)), "error.value.type", "")
		for _, a := range cases {
			if !strings.Contains(a.pointer(), "1/") && !strings.Contains(a.pointer(), "0/") {
				c.Send("GET", "/api/v1/"+path+"?context=main&where="+strings.ReplaceAll(a.pointer()[1:], "/", ".")+"=x", "", 400, "")
			}
		}
	case "x-ref":
		each(post(201, same(map[string]any{"id": "north"})), func(_ annotated, value any, _ bool) bool {
			object, _ := value.(map[string]any)
			return object["name"] == "North" && object["url"] == "/api/v1/teams/north?context=main"
		})
		faults(post(422, same("nowhere")), "error.referenced.object.not.found", "")
		faults(post(422, same(true)), "error.reference.malformed", "")
	case "x-ref object":
		each(post(201, same(map[string]any{"id": "north", "name": "South"})), func(_ annotated, value any, _ bool) bool {
			object, _ := value.(map[string]any)
			return object["name"] == "North"
		})
		faults(post(422, same(map[string]any{"id": "nowhere"})), "error.referenced.object.not.found", "")
	case "x-lookup":
		each(post(201, same(map[string]any{"id": 3413829})), func(_ annotated, value any, _ bool) bool {
			object, _ := value.(map[string]any)
			return object["name"] == "Reykjavík"
		})
		faults(post(422, same(map[string]any{"id": 1})), "error.referenced.object.not.found", "/id")
	case "x-complete":
		each(post(201, same(map[string]any{})), func(_ annotated, value any, _ bool) bool {
			object, _ := value.(map[string]any)
			_, complete := object["k"].([]any)
			return complete
		})
	case "x-immutable":
		post(201, same("a"))
		faults(post(422, same("b")), "error.property.immutable", "")
	case "x-transitions":
		post(201, same("a"))
		faults(post(422, same("c")), "error.transition.forbidden", "")
		post(200, same("b"))
	case "x-initial":
		faults(post(422, same("c")), "error.value.not.initial", "")
		post(201, same("b"))
		post(200, same("c"))
	case "x-default":
		each(post(201, same(absent{})), func(_ annotated, value any, _ bool) bool { return value == c.Service.UserID })
	case "x-sequence":
		each(post(201, same("B1")), func(_ annotated, value any, _ bool) bool { return value == "A1" })
	case "x-personal":
		each(post(201, hidden), func(a annotated, value any, _ bool) bool { return value == hidden(a) })
		c.Send("POST", strings.Replace(url, "?", "/erase?", 1), "", 200, "")
		each(c.Send("GET", url, "", 200, ""), isAbsent)
		if history := c.Send("GET", "/api/v1/audit?context=main&type="+path, "", 200, ""); strings.Contains(string(history.Body), "hidden value") {
			c.Errorf("the history has %.2000s", history.Body)
		}
	case "x-derived":
		for _, a := range cases {
			c.Send("GET", "/api/v1/"+path+"?context=main&where="+a.property+"=x", "", 400, "")
		}
	case "readOnly", "writeOnly":
		each(post(201, func(a annotated) any {
			if annotation == "readOnly" {
				return hidden(a)
			}
			return "written"
		}), isAbsent)
		each(c.Send("GET", url, "", 200, ""), isAbsent)
	case "default":
		each(post(201, same(absent{})), func(_ annotated, value any, _ bool) bool { return value == "set by default" })
	}
}
