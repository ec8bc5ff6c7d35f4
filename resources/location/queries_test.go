package location

import (
	_ "embed"
	"strings"
	"testing"
)

//go:embed testdata/queries.tsv
var queries string

// minRight is the share of queries that must find the expected location.
const minRight = 0.95

// Typical queries find the location that users mean first.
func TestQueries(t *testing.T) {
	right, all := 0, 0
	for line := range strings.Lines(queries) {
		text, wanted, isQuery := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(text, "#") {
			continue
		}
		if !isQuery {
			t.Fatalf("no tab: %q", line)
		}
		all++
		hits := Load().Search(text, 0, 3).Hits
		if finds(hits, strings.Split(wanted, " | ")) {
			right++
		} else {
			t.Logf("%s: finds %v, and not %s", text, hits, wanted)
		}
	}
	t.Logf("%d of %d are right", right, all)
	if all < 200 || float64(right) < minRight*float64(all) {
		t.Errorf("%d of %d are right", right, all)
	}
}

func finds(hits []Hit, wanted []string) bool {
	for i, place := range wanted {
		found := false
		for at, hit := range hits {
			found = found || is(hit, place) && (i > 0 || at == 0)
		}
		if !found {
			return false
		}
	}
	return true
}

// is reports whether a hit is the one described as "TYPE Name, end of context".
func is(hit Hit, place string) bool {
	kind, rest, _ := strings.Cut(place, " ")
	if string(hit.Type) != kind {
		return false
	}
	context, named := strings.CutPrefix(rest, hit.Name)
	return named && (context == "" || strings.HasSuffix(hit.Context, strings.TrimPrefix(context, ", ")))
}
