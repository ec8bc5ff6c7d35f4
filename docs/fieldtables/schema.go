package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
)

// schema is an object of a schema file, with its members in their order.
type schema struct {
	names   []string
	members map[string]json.RawMessage
}

func readSchema(files fs.FS, name string) (schema, error) {
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return schema{}, err
	}
	var s schema
	if err := json.Unmarshal(text, &s); err != nil {
		return schema{}, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *schema) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, &s.members); err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	_, _ = decoder.Token() // {
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return err
		}
		s.names = append(s.names, name.(string))
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return err
		}
	}
	return nil
}

func (s schema) has(name string) bool { return s.members[name] != nil }

// child is a member that is an object, or an empty schema.
func (s schema) child(name string) (c schema) {
	_ = json.Unmarshal(s.members[name], &c)
	return c
}

// text is a member that is a string, or "".
func (s schema) text(name string) (text string) {
	_ = json.Unmarshal(s.members[name], &text)
	return text
}

// texts is a member that is an array of strings, or one string.
func (s schema) texts(name string) (texts []string) {
	if json.Unmarshal(s.members[name], &texts) == nil {
		return texts
	}
	if text := s.text(name); text != "" {
		return []string{text}
	}
	return nil
}

func (s schema) isTrue(name string) bool { return string(s.members[name]) == "true" }
