package storetest

import (
	"fmt"
	"strconv"
	"strings"

	"marquee/engine/query"
	"marquee/engine/store"
)

// The fields of the corpus that are more than a name.
var (
	tags     = text("tags[]")
	termTags = query.Field{Kind: query.String, Path: tags.Path, Term: "tags"}
	sizes    = number("sizes[].w")
	deep     = text("groups[].items[].name")
	mixed    = text("mixed[].name")
	free     = anything("free.a")
	freeDeep = anything("free.b.c")
)

// anything returns a field that the schema does not describe.
func anything(path string) query.Field {
	f := text(path)
	f.Open = true
	return f
}

// corpus returns the records on which conditions are tried.
func corpus() []store.Write {
	docs := []struct{ id, doc string }{
		{"empty", `{}`},
		{"nulls", `{"flag":null,"group":null,"n":null,"name":null,"o":null,"tags":null}`},
		{"anna", `{"flag":true,"group":"g","n":1,"name":"Anna","o":{"p":"x"},"sizes":[{"w":300},{"w":250}],"tags":["red","blue"]}`},
		{"bert", `{"flag":false,"group":"g","n":2.5,"name":"bert","o":{"p":null},"sizes":[{"h":1}],"tags":["blue"]}`},
		{"zero", `{"group":"","n":0,"name":"","tags":[]}`},
		{"max", `{"n":9223372036854775807,"name":"max"}`},
		{"max-1", `{"n":9223372036854775806}`},
		{"min", `{"n":-9223372036854775808}`},
		{"big", `{"n":1e+300}`},
		{"2^53", `{"n":9007199254740992}`},
		{"2^53+1", `{"n":9007199254740993}`},
		{"tenth", `{"n":0.1}`},
		{"uni", `{"name":"ÄÖÜ Straße ΑΒΓ Ünïcödé 世界 😀","tags":["Ünïcödé","世界"]}`},
		{"nfd", `{"name":"e` + "\u0301" + `"}`},
		{"nfc", `{"name":"é"}`},
		{"odd", `{"name":"it's \"quoted\" 100%_\\back\\\n\ttab\u0001;--","tags":["a'b","c\"d","e\\f","%"]}`},
		{"names", `{"":"empty","$":"dollar","-":"dash","a b":"space","a-b":"hyphen","a.b":"dot","a\"b":"quote","a\\b":"back","é":"accent","it's":"apostrophe","0":"digit"}`},
		{"dotted", `{"a":{"b":"not the dot"}}`},
		{"deep", `{"groups":[{"items":[{"name":"one"},{"name":"two"}]},{"items":[]},{},{"items":[{"name":"three"}]}]}`},
		{"deep2", `{"groups":[{"items":[{"name":"four"}]}]}`},
		{"free", `{"free":{"a":"x","b":{"c":"x"}}}`},
		{"free array", `{"free":{"a":["x",null],"b":[{"c":"x"}]}}`},
		{"free number", `{"free":{"a":5,"b":{"c":["x"]}}}`},
		{"free object", `{"free":{"a":{"x":"x"},"b":"x"}}`},
		{"kind number", `{"kind":5}`},
		{"kind text", `{"kind":"five"}`},
		{"mixed", `{"mixed":["plain",7,null,true,{"name":"inside"},["x"],"{\"name\":\"text\"}"],"groups":["plain",{"items":["plain",{"name":"five"}]}]}`},
	}
	terms := map[string][]string{
		"anna": {"tags=red", "tags=blue", "q=anna"}, "bert": {"tags=blue", "q=bert"}, "uni": {"tags=Ünïcödé", "tags=世界", "q=unicode", "q=世界"},
		"odd": {"tags=a'b", `tags=c"d`, `tags=e\f`, "tags=%", "q=it", "q=s", "q=quoted", "q=100"}, "max": {"q=max", "q=maximum", "other=max"},
		"max-1": {"q=mazurka", "q=ma" + "\U0010ffff" + "z"}, "deep": {"items=one", "items=two", "items=three"}, "deep2": {"items=four"},
	}
	writes := make([]store.Write, len(docs))
	for i, d := range docs {
		writes[i] = newRecord(d.id, d.doc)
		for _, term := range terms[d.id] {
			key, value, _ := strings.Cut(term, "=")
			writes[i].AddTerms = append(writes[i].AddTerms, store.Term{Key: key, Value: value})
		}
	}
	byID := func(id string) *store.Write {
		for i := range docs {
			if docs[i].id == id {
				return &writes[i]
			}
		}
		panic(id)
	}
	byID("bert").State, byID("max").State = "INACTIVE", "HIDDEN"
	byID("bert").CreateTime, byID("uni").CreateUser = epoch.AddDate(1, 0, 0), "Bert"
	byID("max").Warnings = []byte(`[{"code":"W"}]`)
	return writes
}

// among is the condition that a record has one of some ids.
func among(ids ...string) query.Expr {
	in := query.In{Field: idField}
	for _, id := range ids {
		in.Values = append(in.Values, id)
	}
	return in
}

// named is the condition that a name has a word with a prefix.
func named(prefix string) query.Expr {
	return query.Term{Key: query.SearchKey, Value: prefix, Prefix: true, Searched: []string{"name"}}
}

// everyone is the number of records in the corpus.
var everyone = len(corpus())

// whereCases are conditions and what they find in the corpus.
var whereCases = []struct {
	name  string
	where query.Expr
	// want lists ids, or is the number of records.
	want string
}{
	{"no condition", nil, strconv.Itoa(everyone)},
	{"empty And", query.And{}, strconv.Itoa(everyone)},
	{"empty Or", query.Or{}, "0"},
	{"not an empty And", query.Not{Of: query.And{}}, "0"},
	{"And", query.And{equal(text("name"), "Anna"), equal(number("n"), int64(1))}, "anna"},
	{"Or", query.Or{equal(text("name"), "Anna"), equal(text("name"), "bert"), query.And{}}, strconv.Itoa(everyone)},
	{"Or in And in Not", query.And{equal(text("group"), "g"), query.Not{Of: query.Or{equal(number("n"), int64(1)), equal(number("n"), int64(7))}}}, "bert"},

	{"equal distinguishes case", equal(text("name"), "anna"), "0"},
	{"equal to the empty text", equal(text("name"), ""), "zero"},
	{"not equal: absent is not equal", query.Not{Of: equal(text("name"), "Anna")}, strconv.Itoa(everyone - 1)},
	{"the operator NotEqual", is(text("name"), query.NotEqual, "Anna"), strconv.Itoa(everyone - 1)},
	{"not not", query.Not{Of: query.Not{Of: equal(text("name"), "Anna")}}, "anna"},
	{"not less: absent is neither less nor more", query.Not{Of: is(text("name"), query.Less, "Anna")}, strconv.Itoa(everyone - 1)},
	{"less by bytes", is(text("name"), query.Less, "a"), "anna zero"},
	{"greater than a number: strings do not match", is(number("kind"), query.Greater, int64(4)), "kind number"},
	{"at least a number: strings do not match", is(number("kind"), query.GreaterOrEqual, int64(5)), "kind number"},
	{"not at least a number: texts among others", query.And{is(number("kind"), query.LessOrEqual, int64(5)), query.Not{Of: is(number("kind"), query.Greater, int64(5))}}, "kind number"},
	{"less than a string: numbers do not match", is(text("kind"), query.Less, "six"), "kind text"},
	{"at most a string: numbers do not match", is(text("kind"), query.LessOrEqual, "five"), "kind text"},
	{"greater by bytes", is(text("name"), query.Greater, "z"), "nfc uni"},
	{"composed is not decomposed", equal(text("name"), "é"), "nfc"},
	{"quotes and escapes", equal(text("name"), "it's \"quoted\" 100%_\\back\\\n\ttab\x01;--"), "odd"},

	{"an integer", equal(number("n"), int64(1)), "anna"},
	{"an integer as a double", equal(number("n"), 1.0), "anna"},
	{"a double", equal(number("n"), 2.5), "bert"},
	{"a tenth", equal(number("n"), 0.1), "tenth"},
	{"the greatest integer", equal(number("n"), int64(9223372036854775807)), "max"},
	{"the least integer", equal(number("n"), int64(-9223372036854775808)), "min"},
	{"beyond the greatest", is(number("n"), query.Greater, int64(9223372036854775806)), "big max"},
	{"beyond doubles", is(number("n"), query.Greater, int64(9007199254740992)), "2^53+1 big max max-1"},
	{"from a double on", is(number("n"), query.GreaterOrEqual, 9007199254740992.0), "2^53 2^53+1 big max max-1"},
	{"less", is(number("n"), query.Less, int64(0)), "min"},
	{"less or equal", is(number("n"), query.LessOrEqual, int64(0)), "min zero"},
	{"a number is not a text", equal(number("n"), "1"), "0"},
	{"many numbers", query.In{Field: number("n"), Values: []any{int64(9223372036854775807), 2.5, int64(0), 0.1}}, "bert max tenth zero"},

	{"true", equal(boolean("flag"), true), "anna"},
	{"false", equal(boolean("flag"), false), "bert"},
	{"not true", query.Not{Of: equal(boolean("flag"), true)}, strconv.Itoa(everyone - 1)},
	{"either", query.In{Field: boolean("flag"), Values: []any{true, false}}, "anna bert"},

	{"absent or null", query.Null{Field: text("group")}, strconv.Itoa(everyone - 3)},
	{"neither", query.Not{Of: query.Null{Field: text("group")}}, "anna bert zero"},
	{"a present object", query.Not{Of: query.Null{Field: object("o")}}, "anna bert"},
	{"a present member", query.Not{Of: query.Null{Field: text("o.p")}}, "anna"},
	{"a present array", query.Not{Of: query.Null{Field: tags}}, "anna bert odd uni"},
	{"items without the member", query.Not{Of: query.Null{Field: sizes}}, "anna"},
	{"warnings", query.Not{Of: query.Null{Field: query.Field{System: query.Warnings, Kind: query.Object}}}, "max"},

	{"in", query.In{Field: text("name"), Values: []any{"Anna", "bert", "nobody"}}, "anna bert"},
	{"in nothing", query.In{Field: text("name")}, "0"},
	{"not in nothing", query.Not{Of: query.In{Field: text("name")}}, strconv.Itoa(everyone)},
	{"not in", query.Not{Of: query.In{Field: text("name"), Values: []any{"Anna", "bert"}}}, strconv.Itoa(everyone - 2)},
	{"in very many", query.In{Field: text("name"), Values: many("Anna", "uni")}, "anna"},
	{"in very many ids", query.In{Field: idField, Values: many("anna", "uni")}, "anna uni"},
	{"in very many numbers", query.In{Field: number("n"), Values: manyNumbers(9223372036854775807)}, "max zero"},
	{"any of very many tags", query.In{Field: tags, Values: many("red")}, "anna"},
	{"any of very many terms", query.In{Field: termTags, Values: many("red")}, "anna"},

	{"any item", equal(tags, "blue"), "anna bert"},
	{"no item", query.Not{Of: equal(tags, "blue")}, strconv.Itoa(everyone - 2)},
	{"no item, by operator", is(tags, query.NotEqual, "blue"), strconv.Itoa(everyone - 2)},
	{"any item by its term", equal(termTags, "blue"), "anna bert"},
	{"no item by its term", query.Not{Of: equal(termTags, "blue")}, strconv.Itoa(everyone - 2)},
	{"no item by its term, by operator", is(termTags, query.NotEqual, "blue"), strconv.Itoa(everyone - 2)},
	{"terms of one item each", query.And{equal(termTags, "blue"), equal(termTags, "red")}, "anna"},
	{"any item of", query.In{Field: termTags, Values: []any{"red", "世界", "none"}}, "anna uni"},
	{"any item is greater", is(tags, query.Greater, "c"), "anna odd uni"},
	{"any item contains", query.Contains{Field: termTags, Text: "LU"}, "anna bert"},
	{"a member of any item", equal(sizes, int64(250)), "anna"},
	{"a member of any item of any item", equal(deep, "three"), "deep"},
	{"among deep members", query.In{Field: deep, Values: []any{"two", "four", "five"}}, "deep deep2 mixed"},
	{"no deep member", query.Not{Of: query.Null{Field: deep}}, "deep deep2 mixed"},
	{"items of all kinds", equal(mixed, "inside"), "mixed"},
	{"a text is no object", equal(mixed, "text"), "0"},
	{"below a text", equal(text("name.first"), "x"), "0"},
	{"quotes in items", equal(termTags, `c"d`), "odd"},
	{"escapes in items", equal(tags, `e\f`), "odd"},

	{"contains, ignoring case", query.Contains{Field: text("name"), Text: "NN"}, "anna"},
	{"contains beyond ASCII", query.Contains{Field: text("name"), Text: "äöü sTRASSE"}, "0"},
	{"contains beyond ASCII, as written", query.Contains{Field: text("name"), Text: "äöü sTRAßE αβγ ünÏCÖDÉ 世"}, "uni"},
	{"contains a percent", query.Contains{Field: text("name"), Text: "100%_"}, "odd"},
	{"a percent is no wildcard", query.Contains{Field: text("name"), Text: "a%a"}, "0"},
	{"an underscore is no wildcard", query.Contains{Field: text("name"), Text: "_nna"}, "0"},
	{"contains a backslash", query.Contains{Field: text("name"), Text: `\BACK\`}, "odd"},
	{"contains a zero byte", query.Contains{Field: text("name"), Text: "\x00"}, "0"},
	{"contains a text of the maximum length", query.Contains{Field: text("name"), Text: strings.Repeat("k", query.MaxContains)}, "0"},
	{"contains a text of the maximum length beyond ASCII", query.Contains{Field: text("name"), Text: strings.Repeat("ß", query.MaxContains/2)}, "0"},
	{"contains nothing", query.Contains{Field: text("name"), Text: ""}, "anna bert max nfc nfd odd uni zero"},
	{"does not contain", query.Not{Of: query.Contains{Field: text("name"), Text: "a"}}, strconv.Itoa(everyone - 4)},
	{"numbers contain no text", query.Contains{Field: number("n"), Text: "1"}, "0"},

	{"of any kind, a text", equal(free, "x"), "free"},
	{"of any kind, not a text", query.Not{Of: equal(free, "x")}, strconv.Itoa(everyone - 1)},
	{"of any kind, one of some texts", query.In{Field: free, Values: []any{"x", "5", `["x",null]`, `{"x":"x"}`}}, "free"},
	{"of any kind, less", is(free, query.Less, "zzz"), "free"},
	{"of any kind, greater", is(free, query.Greater, ""), "free"},
	{"of any kind, contains", query.Contains{Field: free, Text: "X"}, "free"},
	{"of any kind, present", query.Not{Of: query.Null{Field: free}}, "free free array free number free object"},
	{"below a value of any kind", equal(freeDeep, "x"), "free"},
	{"below a value of any kind, absent", query.Null{Field: freeDeep}, strconv.Itoa(everyone - 2)},
	{"below a value of any kind, present", query.Not{Of: query.Null{Field: freeDeep}}, "free free number"},

	{"a word", query.Term{Key: query.SearchKey, Value: "max"}, "max"},
	{"a prefix of a word", query.Term{Key: query.SearchKey, Value: "ma", Prefix: true}, "max max-1"},
	{"a prefix at the end of Unicode", query.Term{Key: query.SearchKey, Value: "ma\U0010ffff", Prefix: true}, "max-1"},
	{"any word", query.Term{Key: query.SearchKey, Prefix: true}, "anna bert max max-1 odd uni"},
	{"all words", query.And{query.Term{Key: query.SearchKey, Value: "quo", Prefix: true}, query.Term{Key: query.SearchKey, Value: "it"}}, "odd"},
	{"part of a word", query.Term{Key: query.SearchKey, Value: "m"}, "0"},
	{"another key", query.Term{Key: "other", Value: "max"}, "max"},
	{"a word in records by id", query.And{among("anna", "bert", "max", "uni"), named("an")}, "anna"},
	{"a word beyond ASCII in records by id", query.And{among("anna", "uni"), named("unic"), named("世")}, "uni"},
	{"a word of which no record by id has one", query.And{among("anna", "nulls", "zero"), named("bert")}, "0"},
	{"a word in items, in records by id", query.And{among("deep", "deep2", "mixed", "empty"),
		query.Term{Key: "items", Value: "t", Prefix: true, Searched: []string{"name", "groups.items.name"}}}, "deep"},
	{"two words", query.And{named("qu"), named("it"), named("10")}, "odd"},
	{"words and no ids", query.And{among(), named("an")}, "0"},
	{"beyond ASCII", query.Term{Key: query.SearchKey, Value: "世", Prefix: true}, "uni"},

	{"the id", equal(idField, "2^53+1"), "2^53+1"},
	{"the network", equal(query.Field{System: query.Network}, net), strconv.Itoa(everyone)},
	{"another network", equal(query.Field{System: query.Network}, "n2"), "0"},
	{"the state", query.In{Field: stateField, Values: []any{"INACTIVE", "HIDDEN"}}, "bert max"},
	{"created at", equal(createTime, instant(epoch)), strconv.Itoa(everyone - 1)},
	{"created after", is(createTime, query.Greater, instant(epoch)), "bert"},
	{"created in", query.In{Field: createTime, Values: []any{instant(epoch.AddDate(1, 0, 0)), instant(epoch.AddDate(2, 0, 0))}}, "bert"},
	{"created by", equal(createUser, "Bert"), "uni"},
	{"not created by", query.Not{Of: equal(createUser, "anna")}, "uni"},
	{"contains in a system field", query.Contains{Field: createUser, Text: "bER"}, "uni"},
}

// many returns more values than a statement may have parameters.
func many(among ...string) []any {
	values := make([]any, 0, 40_000)
	for i := range cap(values) - len(among) {
		values = append(values, fmt.Sprintf("value-%d", i))
	}
	for _, value := range among {
		values = append(values, value)
	}
	return values
}

func manyNumbers(among int64) []any {
	values := make([]any, 0, 40_000)
	for i := range cap(values) - 1 {
		values = append(values, int64(-10*i))
	}
	return append(values, among)
}
