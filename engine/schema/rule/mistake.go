package rule

import (
	"regexp"
	"strings"

	"cel.dev/cel-go/cel"
)

// vocabulary is the cure of most mistakes.
const vocabulary = "see the functions and variables in docs/reference/schema-vocabulary.md"

// mistakes are the classes of mistakes that the compiler reports: the text by which it is
// recognised, and what is said of it instead. Groups are names, types and signs of the rule.
var mistakes = []struct {
	found      *regexp.Regexp
	text, cure string
}{
	{regexp.MustCompile(`^Syntax error: .*'<EOF>'`), "the rule ends too early", "complete it, or close what is open"},
	{regexp.MustCompile(`^Syntax error: [^']*'(.*?)'(?: expecting|$)`), "the rule cannot be read at $1", "correct or remove it"},
	{regexp.MustCompile(`^Syntax error: missing .* at '(.*)'$`), "something is missing before $1", "complete the rule"},
	{regexp.MustCompile(`^Syntax error`), "the rule cannot be read here", "correct it"},
	{regexp.MustCompile(`exceeds limit|limit exceeded`), "the rule is too large, or nested too deeply", "use less in it"},
	{regexp.MustCompile(`^reserved identifier: (\S+)`), "$1 is a reserved word", "write a property of that name as self.`$1`"},
	{regexp.MustCompile(`^invalid (?:int|uint|double) literal`), "the number is out of range", "write a smaller one"},
	{regexp.MustCompile(`^invalid (duration|timestamp) argument`), "this is no $1", `write a duration as in "36h", and a timestamp as in "2030-01-31T12:00:00Z"`},
	{regexp.MustCompile(`^invalid matches argument`), "the pattern cannot be read", "write a regular expression in the syntax of RE2"},
	{regexp.MustCompile(`^invalid argument to has`), "has needs a property of an object", "write has(self.name)"},
	{regexp.MustCompile(`^argument (?:is not an identifier|must be a simple name)`), "a macro needs the name of a variable here", "write it as in self.list.all(item, item > 0)"},
	{regexp.MustCompile(`^undeclared reference to '(.*?)'`), "there is no variable or function $1", vocabulary},
	{regexp.MustCompile(`^undefined field '(.*?)'`), "there is no property $1 here", "correct the name, or declare it in properties"},
	{regexp.MustCompile(`^found no matching overload for '(.*?)' applied to '\((double, int|int, double)\)'`), "$1 cannot be applied to ($2)",
		"write a number that is compared or calculated with a double with a point, as in 13.0"},
	{regexp.MustCompile(`^found no matching overload for '(.*?)' applied to '\((.*)\)'`), "$1 cannot be applied to ($2)", vocabulary},
	{regexp.MustCompile(`^found no matching overload for '(.*?)' applied to '(.*)\.(\(.*\))'`), "a value of type $2 has no function $1$3", vocabulary},
	{regexp.MustCompile(`^type 'string' does not support field selection`), "a value of type string has no properties", "a reference is an id, and rules read no other objects"},
	{regexp.MustCompile(`^type '(.*)' does not support field selection`), "a value of type $1 has no properties", vocabulary},
	{regexp.MustCompile(`^expected type '(.*)' but found '(.*)'`), "the value is of type $2, and must be of type $1", vocabulary},
	{regexp.MustCompile(`^expression of type '(.*)' cannot be range`), "a value of type $1 has no items", "use the macro on a list or a map"},
}

// signs are what the names of operators have besides them.
var signs = strings.NewReplacer("_", "", "@", "")

// explain says what is wrong with a rule, in words of this program.
func explain(text string) Problem {
	text = strings.Join(strings.Fields(text), " ")
	for _, m := range mistakes {
		if groups := m.found.FindStringSubmatchIndex(text); groups != nil {
			said := string(m.found.ExpandString(nil, m.text, text, groups))
			if name, rest, applied := strings.Cut(said, " cannot be applied"); applied {
				said = signs.Replace(name) + " cannot be applied" + rest
			}
			return Problem{Text: said, Cure: string(m.found.ExpandString(nil, m.cure, text, groups))}
		}
	}
	return Problem{Text: "the rule cannot be compiled here", Cure: vocabulary}
}

// problems returns the mistakes that the checker has found.
func (t *Types) problems(issues *cel.Issues) (list []Problem) {
	for _, err := range issues.Errors() {
		p := explain(err.Message)
		p.Line, p.Column = err.Location.Line(), err.Location.Column()+1
		for field, reason := range t.refused {
			if p.Text == "there is no property "+field+" here" {
				p.Text, p.Cure = field+" cannot be read by a rule, because it "+reason, "leave it out of the rule"
			}
		}
		list = append(list, p)
	}
	return list
}
