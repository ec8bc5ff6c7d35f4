package read

import (
	"bytes"
	"encoding/json"
	"slices"

	"marquee/engine/document"
	"marquee/engine/history"
	"marquee/engine/message"
	"marquee/engine/schema"
)

// texts are the present texts of stored messages, which many objects share.
type texts struct {
	registry *schema.Registry
	current  map[string][]byte
}

// currentTexts returns stored messages about objects of a type with the present texts of their
// codes, and the present names of types and properties.
func (t texts) currentTexts(of *schema.Type, stored []byte) []byte {
	if len(stored) == 0 {
		return []byte("[]")
	}
	stored = boundWarnings(stored)
	key := string(stored)
	if of.Served() != of {
		key = of.Name + key
	}
	text, known := t.current[key]
	if !known {
		text = t.translate(of, stored)
		t.current[key] = text
	}
	return text
}

// boundWarnings returns the warnings of an object that are shown. Objects written before
// there was a bound may have more.
func boundWarnings(warnings []byte) []byte {
	n, end, last := 0, 0, []byte(nil)
	document.EachItem(warnings, func(item []byte) {
		n++
		if last = item; n <= history.MaxWarnings {
			end += len(item) + 1 // and the bracket or comma before it
		}
	})
	if n <= history.MaxWarnings || n == history.MaxWarnings+1 && document.MemberText(last, "code") == message.WarnUnlisted.Code {
		return warnings
	}
	cut := append(slices.Clone(warnings[:end]), ',')
	return append(append(cut, history.Encode(history.Unlisted(n-history.MaxWarnings))...), ']')
}

// currentText returns one stored message as currentTexts does, unchanged if the code is
// unknown.
func (t texts) currentText(of *schema.Type, stored []byte) []byte {
	text := t.currentTexts(of, append(append([]byte{'['}, stored...), ']'))
	if text = text[1 : len(text)-1]; len(text) == 0 {
		return stored
	}
	return text
}

// translate renders stored messages again from their codes. Unknown codes are left
// out; stored bytes that are equal are returned as they are.
func (t texts) translate(of *schema.Type, stored []byte) []byte {
	var messages []struct {
		Code   string         `json:"code"`
		Params message.Params `json:"params"`
	}
	if json.Unmarshal(stored, &messages) != nil {
		return []byte("[]")
	}
	known := []message.Message{}
	for _, m := range messages {
		if def, ok := t.registry.Catalogue().Lookup(m.Code); ok {
			current := t.registry.Shown(def.With(of.ServedParams(m.Params)))
			if def.Type == message.TypeValidation { // a fault that was tolerated
				current = current.AsWarning()
			}
			known = append(known, current)
		}
	}
	text, err := json.Marshal(known)
	if err != nil || bytes.Equal(text, stored) {
		return stored
	}
	return text
}
