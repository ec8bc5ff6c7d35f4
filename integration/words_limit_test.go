package integration

import (
	"fmt"
	"strings"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
)

// TestWordsOfACallAreBounded sends articles of more words than one transaction indexes
// without keeping other writes waiting. One of them alone is stored.
func TestWordsOfACallAreBounded(t *testing.T) { service.EachStore(t, testWordsOfACallAreBounded) }

func testWordsOfACallAreBounded(t *testing.T, fresh service.NewStore) {
	process.SkipSequential(t)
	c := service.Converse(t, fresh)
	article := func(i int) string {
		var words strings.Builder
		for n := range 70_000 {
			fmt.Fprintf(&words, "%x ", i<<20+n)
		}
		return fmt.Sprintf(`{"id": "a%d", "url": "https://example.com/%d", "text": %q}`, i, i, words.String())
	}
	c.Send("POST", "/api/v1/articles?context=main", service.Listing(8, func(i int) string { return article(i + 1) }), 413, `{"messages": [{"code": "error.batch.too.large"}]}`)
	c.Send("GET", "/api/v1/articles?context=main", "", 200, `{"totalCount": 0}`)
	c.Send("POST", "/api/v1/articles?context=main", "["+article(1)+"]", 200, "")
	c.Send("GET", "/api/v1/articles?context=main&q=100001", "", 200, `{"totalCount": 1}`)
}
