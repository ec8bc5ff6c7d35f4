// Package trace passes the context of a distributed trace (W3C Trace Context) from a request
// to the calls of other services that it makes. It imports nothing of the project. Begin with
// Parse.
package trace

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
)

// Header is the header field with the context of a trace.
const Header = "Traceparent"

// Parent is the context of the trace that a request belongs to; the zero value is none.
type Parent struct {
	// TraceID identifies the trace, in 32 hexadecimal digits.
	TraceID string
	// flags are those of the trace, in two hexadecimal digits.
	flags string
}

const (
	// length is the number of characters of version 00, with which later ones begin.
	length = len("00-00000000000000000000000000000000-0000000000000000-00")
	digits = "0123456789abcdef"
)

// Parse reads the values of the header field. It returns the zero Parent unless there is
// exactly one, and it is valid. The result refers to the value.
func Parse(values []string) Parent {
	if len(values) != 1 || len(values[0]) < length {
		return Parent{}
	}
	v := values[0]
	version, id, parent, flags := v[:2], v[3:35], v[36:52], v[53:55]
	switch {
	case v[2] != '-', v[35] != '-', v[52] != '-',
		strings.Trim(version+id+parent+flags, digits) != "",
		version == "ff", version == "00" && len(v) > length, len(v) > length && v[length] != '-',
		strings.Trim(id, "0") == "", strings.Trim(parent, "0") == "":
		return Parent{}
	}
	return Parent{id, flags}
}

// Child returns the value of the header field for a call that belongs to the trace, which has
// an id of its own.
func (p Parent) Child() string {
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	// Of the flags, version 00 knows sampled alone (section 3.2.2.5).
	sampled := strings.Index(digits, p.flags[1:]) & 1
	return fmt.Sprintf("00-%s-%x-%02d", p.TraceID, id, sampled)
}

type contextKey struct{}

// With returns a context that carries the trace.
func With(ctx context.Context, p Parent) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}

// Of returns the trace that a context carries, if any.
func Of(ctx context.Context) (p Parent, ok bool) {
	p, ok = ctx.Value(contextKey{}).(Parent)
	return p, ok
}
