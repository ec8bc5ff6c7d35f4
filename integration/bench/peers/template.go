package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// template is a text with variables: {{name}}. In JSON, "{{#name}}" is replaced with
// its quotation marks, for numbers, and for several objects in a list.
type template struct {
	pieces []piece
}

// piece is a literal text, or a variable.
type piece struct{ text, variable string }

// values returns the value of a variable.
type values func(name string) (string, bool)

// UnmarshalJSON takes a string, or another value as the text that it is.
func (t *template) UnmarshalJSON(source []byte) error {
	text := string(source)
	if strings.HasPrefix(text, `"`) && !strings.HasPrefix(text, `"{{#`) {
		if err := json.Unmarshal(source, &text); err != nil {
			return err
		}
	}
	return t.parse(text)
}

func (t *template) parse(text string) error {
	t.pieces = nil
	for text != "" {
		literal, rest, found := strings.Cut(text, "{{")
		if !found {
			t.pieces = append(t.pieces, piece{text: text})
			return nil
		}
		name, after, closed := strings.Cut(rest, "}}")
		if !closed || name == "" {
			return fmt.Errorf("{{ without }} in %.100q", text)
		}
		if plain, ok := strings.CutPrefix(name, "#"); ok {
			before, opened := strings.CutSuffix(literal, `"`)
			behind, ended := strings.CutPrefix(after, `"`)
			if !opened || !ended {
				return fmt.Errorf("{{%s}} is not in quotation marks", name)
			}
			name, literal, after = plain, before, behind
		}
		t.pieces = append(t.pieces, piece{text: literal}, piece{variable: name})
		text = after
	}
	return nil
}

// render returns the text with the values of its variables.
func (t *template) render(value values) (string, error) {
	var b strings.Builder
	for _, p := range t.pieces {
		if p.variable == "" {
			b.WriteString(p.text)
			continue
		}
		text, known := value(p.variable)
		if !known {
			return "", fmt.Errorf("there is no variable %s", p.variable)
		}
		b.WriteString(text)
	}
	return b.String(), nil
}
