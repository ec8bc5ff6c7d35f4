package language_test

import (
	"fmt"

	"marquee/resources/article/language"
)

// The forms of a word have the same term, and stop words have none. A language is detected
// or named by a tag.
func ExampleAnalyzer_Counts() {
	for _, text := range []string{
		"The nurses are in the ward, and a nurse is at the door.",
		"Die Häuser sind alt, und das Haus ist klein.",
	} {
		name := language.Detect(text)
		fmt.Println(name, language.Named(name).Counts(text))
	}
	fmt.Println(language.Of("de-AT"), language.Of("tlh") == language.Plain)
	// Output:
	// en map[door:1 nurs:2 ward:1]
	// de map[alt:1 haus:2 klein:1]
	// de true
}
