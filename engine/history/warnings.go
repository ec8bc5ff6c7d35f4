package history

import (
	"bytes"

	"marquee/engine/document"
	"marquee/engine/message"
)

// Unlisted is the warning that n others are not listed.
func Unlisted(n int) message.Message {
	return message.WarnUnlisted.With(message.Params{"field": "", "count": n})
}

// Encode returns a message in the canonical form that every store preserves, without
// unnecessary escapes.
func Encode(m message.Message) []byte {
	text, err := m.MarshalJSON()
	if err != nil {
		panic(err)
	}
	if bytes.IndexByte(text, '\\') < 0 {
		return text
	}
	object, err := document.DecodeObject(text, document.Limits{})
	if err != nil {
		panic(err)
	}
	return document.Append(nil, object)
}

// Appeared returns the messages of one array that another lacks, as an array; nil when
// there are none.
func Appeared(before, after []byte) []byte {
	if len(before) == 0 {
		return after
	}
	known := map[string]bool{}
	document.EachItem(before, func(text []byte) { known[identity(text)] = true })
	var added []byte
	document.EachItem(after, func(text []byte) {
		if !known[identity(text)] {
			added = append(append(added, ','), text...)
		}
	})
	if added == nil {
		return nil
	}
	added[0] = '['
	return append(added, ']')
}

// identity distinguishes a warning from the others of its object. A different number
// of unlisted warnings is not a new warning.
func identity(warning []byte) string {
	if code := document.MemberText(warning, "code"); code == message.WarnUnlisted.Code {
		return code
	}
	return string(warning)
}

// MaxWarnings is the number of warnings that an object is stored and shown with. One
// more holds the number of those left out.
const MaxWarnings = 100
