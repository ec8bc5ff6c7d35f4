package settings

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// VariablePrefix is the beginning of the names of variables.
const VariablePrefix = "MARQUEE_"

// notSettings matches variables that are no settings and no mistakes either:
// those of deploy/compose.yaml and of the tests.
var notSettings = regexp.MustCompile(`^MARQUEE_(IMAGE|LISTEN(_[12])?|TEST_.*|REQUIRE)$`)

// serviceLink matches what Kubernetes sets in every container beside a Service
// whose name begins with marquee, and Docker for a link.
var serviceLink = regexp.MustCompile(`^MARQUEE_(.+_)?(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)=|^MARQUEE_(.+_)?PORT=(tcp|udp|sctp)://`)

// misspelt lists the variables of an environment that look like settings and are
// none of any command, each with the setting that it may be meant for, "" where
// none is near.
func misspelt(app *kong.Application, environment []string) map[string]string {
	known := map[string]bool{}
	_ = kong.Visit(app, func(node kong.Visitable, next kong.Next) error {
		if flag, ok := node.(*kong.Flag); ok {
			for _, name := range flag.Envs {
				known[name] = true
			}
		}
		return next(nil)
	})
	found := map[string]string{}
	for _, variable := range environment {
		name, _, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, VariablePrefix) || known[name] || notSettings.MatchString(name) || serviceLink.MatchString(variable) {
			continue
		}
		found[name] = nearest(name, slices.Sorted(maps.Keys(known)))
	}
	return found
}

// UnknownVariables says of each variable that looks like a setting and is none what is wrong. No text shows a value.
func UnknownVariables(app *kong.Application) []string {
	found := misspelt(app, os.Environ())
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(found)) {
		text := "there is no setting " + name
		if near := found[name]; near != "" {
			text += ": did you mean " + near + "?"
		}
		texts = append(texts, text)
	}
	return texts
}

// nearest is the name with the fewest edits from another one, "" when more than
// a third of it would have to change.
func nearest(name string, names []string) string {
	best, least := "", (len(name)-len(VariablePrefix))/3+1
	for _, candidate := range names {
		if d := edits(name, candidate); d < least {
			best, least = candidate, d
		}
	}
	return best
}

// edits is the number of bytes that must be inserted, dropped or replaced to make one text
// of another (Levenshtein).
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
