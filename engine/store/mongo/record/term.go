package record

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"marquee/engine/query"
	"marquee/engine/store"
)

// appendTerms appends a set of terms as an array, or nothing for none.
func appendTerms(dst []byte, name string, terms []store.Term) []byte {
	if len(terms) == 0 {
		return dst
	}
	at, dst := bsoncore.AppendArrayElementStart(dst, name)
	for i, text := range Terms(terms) {
		dst = bsoncore.AppendStringElement(dst, strconv.Itoa(i), text)
	}
	dst, _ = bsoncore.AppendArrayEnd(dst, at)
	return dst
}

// appendEach appends the addition of terms to a set, or nothing for none.
func appendEach(dst []byte, name string, terms []store.Term) []byte {
	if len(terms) == 0 {
		return dst
	}
	return bsoncore.BuildDocumentElement(dst, name, appendTerms(nil, "$each", terms))
}

// SplitTerms separates the terms with ordered keys, which have a field and an index of
// their own.
func SplitTerms(terms []store.Term) (plain, ordered []store.Term) {
	if !slices.ContainsFunc(terms, isOrdered) {
		return terms, nil
	}
	for _, term := range terms {
		if isOrdered(term) {
			ordered = append(ordered, term)
		} else {
			plain = append(plain, term)
		}
	}
	return plain, ordered
}

func isOrdered(term store.Term) bool { return strings.HasPrefix(term.Key, query.OrderedKey) }

// Term is the stored form of a term. Keys contain no equals sign.
func Term(term store.Term) string { return term.Key + "=" + term.Value }

// Terms returns the stored forms of terms, without duplicates.
func Terms(terms []store.Term) []string {
	texts := make([]string, len(terms))
	for i, term := range terms {
		texts[i] = Term(term)
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

// EachTerm calls found with the terms of a member of a stored record.
func EachTerm(raw bson.Raw, field string, found func(store.Term)) error {
	array, ok := raw.Lookup(field).ArrayOK()
	if !ok {
		return nil
	}
	values, err := array.Values()
	for _, value := range values {
		text, _ := value.StringValueOK()
		key, value, _ := strings.Cut(text, "=")
		found(store.Term{Key: key, Value: value})
	}
	return err
}

// TermPatterns returns patterns for the terms with some keys, by the member that has them.
func TermPatterns(keys []string) map[string]bson.Regex {
	quoted, patterns := map[string][]string{}, map[string]bson.Regex{}
	for _, key := range keys {
		field := FieldTerms
		if isOrdered(store.Term{Key: key}) {
			field = FieldOrdered
		}
		quoted[field] = append(quoted[field], regexp.QuoteMeta(key))
	}
	for field, some := range quoted {
		patterns[field] = bson.Regex{Pattern: "^(" + strings.Join(some, "|") + ")="}
	}
	return patterns
}
