package catalogue

import (
	"strings"
	"testing"

	"marquee/engine/message"
)

func TestMessages(t *testing.T) {
	if _, err := message.NewCatalogue(&Messages); err != nil {
		t.Error(err)
	}
	for _, def := range Messages.All() {
		if !strings.HasSuffix(def.Text, ".") {
			t.Errorf("the text of %s is not a sentence: %q", def.Code, def.Text)
		}
	}
}
