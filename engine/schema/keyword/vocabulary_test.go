package keyword_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"marquee/engine/document"
	"marquee/engine/schema/keyword"
)

var update = flag.Bool("update", false, "write the generated meta-schema")

// TestVocabularyIsGenerated compares the meta-schema in the repository, which editors
// use, with the one that files are checked against.
func TestVocabularyIsGenerated(t *testing.T) {
	const name = "../vocabulary.json"
	generated := keyword.Vocabulary()
	if *update {
		var text bytes.Buffer
		if err := json.Indent(&text, document.Append(nil, generated), "", "  "); err != nil {
			t.Fatal(err)
		}
		text.WriteByte('\n')
		if err := os.WriteFile(name, text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	committed, err := document.DecodeObject(text, document.Limits{Depth: 64})
	if err != nil || !document.Equal(generated, committed) {
		t.Errorf("vocabulary.json differs from the keywords (%v): run go test ./engine/schema/keyword -update", err)
	}
}
