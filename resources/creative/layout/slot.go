package layout

import "strings"

// MaxTag is the maximum length of a tag in the constraints of a layout.
const MaxTag = 128

// slot is one `{{tag}}` at html[start:end], with its braces.
type slot struct {
	tag        string
	start, end int
}

// findSlots finds the slots between double braces. Closing braces without a slot
// are html, since styles and scripts may end in them.
func findSlots(html string) ([]slot, []faultAt) {
	var slots []slot
	var faults []faultAt
	for at := 0; ; {
		brace := strings.Index(html[at:], "{{")
		if brace < 0 {
			return slots, faults
		}
		at += brace
		length := strings.Index(html[at+2:], "}}")
		if length < 0 {
			return slots, append(faults, faultAt{kind: UnclosedSlot, offset: at})
		}
		end := at + length + 4
		if tag := html[at+2 : end-2]; isTag(tag) {
			slots = append(slots, slot{tag: tag, start: at, end: end})
		} else {
			faults = append(faults, faultAt{kind: BadSlot, offset: at})
		}
		at = end
	}
}

func isTag(tag string) bool {
	if tag == "" || len(tag) > MaxTag {
		return false
	}
	for i := range len(tag) {
		if !isWord(tag[i]) {
			return false
		}
	}
	return true
}

func isWord(c byte) bool {
	return c == '_' || isLetter(c) || '0' <= c && c <= '9'
}

func isLetter(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z'
}

// blank returns the html with every slot replaced by letters, for the parsers of
// html, scripts and styles. Offsets remain the same.
func blank(html string, slots []slot) string {
	blanked := []byte(html)
	for _, s := range slots {
		for i := s.start; i < s.end; i++ {
			blanked[i] = 'x'
		}
	}
	return string(blanked)
}
