package message

import (
	"strings"
	"testing"
)

func TestBuiltIn(t *testing.T) {
	for _, def := range BuiltIn().All() {
		if def.Type == TypeValidation && def.Kind != Invalid {
			t.Errorf("%s is a validation error of the kind %d", def.Code, def.Kind)
		}
		if !strings.HasSuffix(def.Text, ".") {
			t.Errorf("the text of %s is not a sentence: %q", def.Code, def.Text)
		}
	}
}

func TestDefinitionsAreChecked(t *testing.T) {
	for name, define := range map[string]func(s *Set){
		"a code of another type":  func(s *Set) { s.Warning("error.mine", "Mine.") },
		"a code in capitals":      func(s *Set) { s.Invalid("error.Mine", "Mine.") },
		"a code of one word":      func(s *Set) { s.Invalid("error", "Mine.") },
		"an error without a kind": func(s *Set) { s.Fault(None, "error.mine", "Mine.") },
		"no text":                 func(s *Set) { s.Invalid("error.mine", "") },
		"a bad placeholder":       func(s *Set) { s.Invalid("error.mine", "Not {{my name}}.") },
	} {
		var s Set
		define(&s)
		if _, err := NewCatalogue(&s); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestSets(t *testing.T) {
	var mine, yours Set
	def := mine.Fault(Forbidden, "error.mine", "Mine.")
	yours.Warning("warning.yours", "Yours.")
	c, err := NewCatalogue(&mine, &yours)
	if err != nil {
		t.Fatal(err)
	}
	if found, ok := c.Lookup("error.mine"); !ok || found != def {
		t.Errorf("error.mine is %v", found)
	}
	if _, ok := BuiltIn().Lookup("error.mine"); ok {
		t.Error("a set has changed the built-in catalogue")
	}
	yours.Fault(Forbidden, "error.mine", "Mine.")
	if _, err := NewCatalogue(&mine, &yours); err == nil {
		t.Error("two definitions of one code")
	}
}

func TestDeclaredCodes(t *testing.T) {
	mine := &Definition{Code: "warning.mine", Type: TypeWarning, Text: "Mine."}
	same, other := *mine, *mine
	other.Text = "Yours."
	c, err := BuiltIn().With(mine, &same)
	if err != nil {
		t.Fatal(err)
	}
	if def, ok := c.Lookup("warning.mine"); !ok || *def != *mine {
		t.Errorf("%v", def)
	}
	if all := c.All(); len(all) != len(builtIn.All())+1 {
		t.Errorf("%d definitions, want %d", len(all), len(builtIn.All())+1)
	}
	if _, err := BuiltIn().With(mine, &other); err == nil {
		t.Error("one code with two texts")
	}
	if _, err := BuiltIn().With(&Definition{Code: InternalError.Code, Type: TypeError, Text: "Nothing is wrong."}); err == nil {
		t.Error("a built-in code with another text")
	}
}
