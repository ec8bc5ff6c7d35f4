package mongo

import (
	"strings"

	"marquee/engine/query"
)

// Names of members are stored as they are, but for what a path cannot hold or
// BSON does not keep: a dot, a dollar at the beginning, an empty name. These
// are percent-encoded, and so is the percent sign itself.

const upperHex = "0123456789ABCDEF"

// escapeName is the stored form of a member's name.
func escapeName(name string) string {
	if name == "" {
		return "%"
	}
	if name[0] != '$' && !strings.ContainsAny(name, ".%\x00") {
		return name
	}
	var b strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case c == '.', c == '%', c == 0, c == '$' && i == 0:
			b.WriteByte('%')
			b.WriteByte(upperHex[c>>4])
			b.WriteByte(upperHex[c&15])
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// unescapeName is the name whose stored form is given. A percent sign that is
// part of none, which only another program can have written, stands for itself.
func unescapeName(stored []byte) []byte {
	if len(stored) == 1 {
		return nil
	}
	name := make([]byte, 0, len(stored))
	for i := 0; i < len(stored); i++ {
		if stored[i] == '%' && i+2 < len(stored) {
			high, low := strings.IndexByte(upperHex, stored[i+1]), strings.IndexByte(upperHex, stored[i+2])
			if high >= 0 && low >= 0 {
				name = append(name, byte(high<<4|low))
				i += 2
				continue
			}
		}
		name = append(name, stored[i])
	}
	return name
}

// The members of a stored record. The user's own are all below document.
const (
	fieldID         = "_id"
	fieldVersion    = "version"
	fieldState      = "state"
	fieldCreateTime = "createTime"
	fieldUpdateTime = "updateTime"
	fieldCreateUser = "createUser"
	fieldUpdateUser = "updateUser"
	fieldWarnings   = "warnings"
	fieldTerms      = "terms"
	fieldDocument   = "document"

	keyNetwork = fieldID + ".network"
	keyID      = fieldID + ".id"
)

var systemFields = map[query.System]string{
	query.ID: keyID, query.Network: keyNetwork, query.State: fieldState, query.CreateTime: fieldCreateTime,
	query.UpdateTime: fieldUpdateTime, query.CreateUser: fieldCreateUser, query.UpdateUser: fieldUpdateUser, query.Warnings: fieldWarnings,
}

// path is where a field is in a stored record. Arrays on the way are crossed
// by MongoDB itself.
func path(field query.Field) string {
	if field.System != query.NotSystem {
		return systemFields[field.System]
	}
	var b strings.Builder
	b.WriteString(fieldDocument)
	for _, step := range field.Path {
		b.WriteByte('.')
		b.WriteString(escapeName(step.Name))
	}
	return b.String()
}
