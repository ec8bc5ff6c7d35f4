package schema

import (
	"slices"
	"strings"

	"golang.org/x/text/secure/precis"
)

// UsernameForm is the UsernameCaseMapped profile of RFC 8265, the form of user
// names.
const UsernameForm = "UsernameCaseMapped"

// UniqueForm requires the values of a unique property to be unique in a form, too.
type UniqueForm struct{ Property, Form string }

// Key is the name under which the forms of the property's values are unique.
func (f UniqueForm) Key() string { return f.Property + ":" + f.Form }

// maxEnforced is the maximum number of times that a profile is applied until its
// output is stable (RFC 8264, section 7).
const maxEnforced = 4

// Of returns the form of a value; ok is false if the value does not conform.
func (f UniqueForm) Of(value string) (form string, ok bool) {
	if f.Form != UsernameForm || value == "" {
		return "", false
	}
	form = value
	for range maxEnforced {
		next, err := precis.UsernameCaseMapped.String(form)
		if err != nil {
			return "", false
		}
		if next == form {
			return form, true
		}
		form = next
	}
	return "", false
}

func uniqueForms(declared any) []UniqueForm {
	members, _ := declared.(map[string]any)
	var forms []UniqueForm
	for property, form := range members {
		name, _ := form.(string)
		forms = append(forms, UniqueForm{property, name})
	}
	slices.SortFunc(forms, func(a, b UniqueForm) int { return strings.Compare(a.Property, b.Property) })
	return forms
}
