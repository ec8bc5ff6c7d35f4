package catalog

import (
	"strconv"
	"strings"

	"marquee/engine/document"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// maxSharing is the number of objects that may share a form.
//
// A value of a unique property with a form (schema.UniqueForm) is claimed as it is
// written and in its form. Objects stored before the property had a form may share
// one: each claims it under a number of its own, so that no other object can take it.
const maxSharing = 10

// FormClaims returns the claims of a value in its form, nil for a value that has none.
// Several of them have owners where stored values share the form.
func FormClaims(collection, network string, f schema.UniqueForm, value string) []store.Claim {
	form, ok := f.Of(value)
	if !ok {
		return nil
	}
	claims := make([]store.Claim, maxSharing)
	for i := range claims {
		number := ""
		if i > 0 {
			number = "#" + strconv.Itoa(i)
		}
		claims[i] = store.Claim{Collection: collection, Network: network, Property: f.Key(),
			Value: string(document.AppendString(nil, form)) + number}
	}
	return claims
}

// TextAt returns the string at a dotted path of a document, "" where there is none.
func TextAt(object map[string]any, path string) string {
	text, _ := document.ValueAt(object, path).(string)
	return text
}

// FormsOf returns the forms among the unique keys of a type.
func FormsOf(unique []string) []schema.UniqueForm {
	var forms []schema.UniqueForm
	for _, key := range unique {
		if property, form, ok := strings.Cut(key, ":"); ok {
			forms = append(forms, schema.UniqueForm{Property: property, Form: form})
		}
	}
	return forms
}

// FreeForm returns the first form claim without an owner. It reports false when the
// object owns one already, or none is free.
func FreeForm(claims []store.Claim, owners map[store.Claim]string, id string) (free store.Claim, ok bool) {
	for i := len(claims) - 1; i >= 0; i-- {
		switch owner, owned := owners[claims[i]]; {
		case !owned:
			free, ok = claims[i], true
		case owner == id:
			return store.Claim{}, false
		}
	}
	return free, ok
}

// OthersOf returns the owners of claims other than one object.
func OthersOf(claims []store.Claim, owners map[store.Claim]string, id string) []string {
	var others []string
	for _, claim := range claims {
		if owner, owned := owners[claim]; owned && owner != id {
			others = append(others, owner)
		}
	}
	return others
}
