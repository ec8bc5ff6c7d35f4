package sqlite

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"marquee/engine/query"
)

// wordIn holds for the records that have a word with a prefix in one of the searched
// properties. It reads the document: for a few records that is cheaper than to list all
// those that have such a word, of which the table of terms has no index by record.
func wordIn(term query.Term) clause {
	c := &compiler{}
	for i, searched := range term.Searched {
		if i > 0 {
			c.WriteString(" OR ")
		}
		first, rest, _ := strings.Cut(searched, ".")
		c.arg("has_word(?,?,doc->"+pathLiteral([]query.Step{{Name: first}})+")", term.Value, rest)
	}
	return clause{"(" + c.String() + ")", c.args}
}

// hasWord reports whether a word of the strings at a path, the second argument, below a
// JSON value, the third one, begins with the first one.
func hasWord(ctx sqlite3.Context, arg ...sqlite3.Value) {
	var value any
	if arg[2].Type() != sqlite3.TEXT || json.Unmarshal(arg[2].RawText(), &value) != nil {
		ctx.ResultBool(false)
		return
	}
	var path []string
	if rest := arg[1].Text(); rest != "" {
		path = strings.Split(rest, ".")
	}
	prefix, found := arg[0].Text(), false
	query.EachString(value, path, func(text string) {
		found = found || slices.ContainsFunc(query.Words(text), func(word string) bool { return strings.HasPrefix(word, prefix) })
	})
	ctx.ResultBool(found)
}
