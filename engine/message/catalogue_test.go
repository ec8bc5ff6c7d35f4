package message

import (
	"regexp"
	"strings"
	"testing"
)

// prefixes are those of the codes of each type.
var prefixes = map[string]string{
	TypeError: "error.", TypeValidation: "error.", TypeWarning: "warning.", TypeAudit: "audit.", TypeNotification: "notification.",
}

var (
	codeForm        = regexp.MustCompile(`^[a-z]+(\.[a-z0-9]+)+$`)
	placeholderForm = regexp.MustCompile(`\{\{[^{}]*\}\}`)
	nameForm        = regexp.MustCompile(`^\{\{[a-z][A-Za-z]*\}\}$`)
)

func TestCatalogue(t *testing.T) {
	seen := map[string]bool{}
	for _, def := range builtIn {
		prefix, known := prefixes[def.Type]
		if !known || !strings.HasPrefix(def.Code, prefix) || !codeForm.MatchString(def.Code) {
			t.Errorf("%s is no code of the type %s", def.Code, def.Type)
		}
		if seen[def.Code] {
			t.Errorf("%s is defined twice", def.Code)
		}
		seen[def.Code] = true
		if fault := prefix == "error."; fault != (def.Kind != None) {
			t.Errorf("%s of type %s is of the kind %d", def.Code, def.Type, def.Kind)
		}
		if def.Type == TypeValidation && def.Kind != Invalid {
			t.Errorf("%s is a validation error of the kind %d", def.Code, def.Kind)
		}
		if strings.TrimSpace(def.Text) != def.Text || !strings.HasSuffix(def.Text, ".") {
			t.Errorf("the text of %s is no sentence: %q", def.Code, def.Text)
		}
		for _, placeholder := range placeholderForm.FindAllString(def.Text, -1) {
			if !nameForm.MatchString(placeholder) {
				t.Errorf("%s has the placeholder %s", def.Code, placeholder)
			}
		}
	}
}

func TestDeclaredCodes(t *testing.T) {
	mine := &Definition{Code: "warning.mine", Type: TypeWarning, Text: "Mine."}
	same, other := *mine, *mine
	other.Text = "Yours."
	c, err := NewCatalogue([]*Definition{mine, &same})
	if err != nil {
		t.Fatal(err)
	}
	if def, ok := c.Lookup("warning.mine"); !ok || *def != *mine {
		t.Errorf("%v", def)
	}
	if all := c.All(); len(all) != len(builtIn)+1 {
		t.Errorf("%d definitions, want %d", len(all), len(builtIn)+1)
	}
	if _, err := NewCatalogue([]*Definition{mine, &other}); err == nil {
		t.Error("one code with two texts")
	}
	if _, err := NewCatalogue([]*Definition{{Code: InternalError.Code, Type: TypeError, Text: "Nothing is wrong."}}); err == nil {
		t.Error("a built-in code with another text")
	}
}
