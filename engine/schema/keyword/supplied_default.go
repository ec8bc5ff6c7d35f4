package keyword

import (
	"crypto/rand"
	"fmt"
	"time"

	"marquee/engine/document"
)

// x-default is a value that a new object gets if the client sends none.
var _ = Declare(Keyword{
	Name: "x-default", Order: 62,
	Meta: `{
		"enum": ["now", "caller", "uuid"],
		"description": "The value of a new object without the property: the time or date of its creation, the id of the user who creates it, or a random UUID."
	}`,
	On: Property, Cure: "put it on a top-level property", Once: true,
	Conflict: conflictOfDefault,
	Sample: func(shape *document.Shape) (any, bool) {
		text, _ := conflictOfDefault(shape)
		if shape.Ref != nil || text != "" {
			return nil, false
		}
		if shape.Keywords["x-default"] == "uuid" {
			return "f81d4fae-7dec-41d0-a765-00a0c91e6bf6", true
		}
		return supplyDefault(shape, &Creation{Time: time.Unix(0, 0), User: "abcdefghijklmnop"}), true
	},
	Supply: supplyDefault,
	Note: func(shape *document.Shape) []string {
		what := map[any]string{"now": "the time of the creation", "caller": "the user who creates the object", "uuid": "a random UUID"}
		if shape.Format == "date" {
			what["now"] = "the date of the creation, in UTC"
		}
		return []string{"if a new object has none: " + what[shape.Keywords["x-default"]]}
	},
	Table: "If a new object has none, the service supplies it.",
})

func conflictOfDefault(shape *document.Shape) (text, cure string) {
	suits, cure := false, ""
	plain := shape.Ref == nil && shape.Is("string")
	switch shape.Keywords["x-default"] {
	case "now":
		suits, cure = plain && (shape.Format == "date-time" || shape.Format == "date"), `write "type": "string" and "format": "date-time" or "date"`
	case "caller":
		users := shape.Ref != nil && shape.Ref.Type == "users" && !shape.Ref.Object && len(shape.Ref.Where) == 0
		suits, cure = users || plain && shape.Format == "", `write "type": "string", or "x-ref": "users"`
	case "uuid":
		suits, cure = plain && (shape.Format == "" || shape.Format == "uuid"), `write "type": "string"`
	}
	switch {
	case !suits:
		return fmt.Sprintf("%v does not suit the type and format of the property", shape.Keywords["x-default"]), cure
	case shape.HasDefault:
		return "a value has either default or x-default", "remove one of them"
	case shape.WriteOnly, shape.Derived:
		return "a value that is writeOnly or x-derived is not stored", "remove x-default"
	}
	return "", ""
}

func supplyDefault(shape *document.Shape, c *Creation) any {
	switch shape.Keywords["x-default"] {
	case "now":
		if shape.Format == "date" {
			return c.Time.UTC().Format(time.DateOnly)
		}
		return c.Time.UTC().Format(document.TimeLayout)
	case "caller":
		if c.User != "" {
			return c.User
		}
	case "uuid":
		return newUUID()
	}
	return nil
}

// newUUID returns a random UUID, of version 4 (RFC 9562, section 5.4), which cannot be
// guessed.
func newUUID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
