// Package event has the names of the security events in the log. It imports nothing of the
// project.
package event

import "log/slog"

// Event is the name of a security event, which the log has in the attribute event. All lists
// them.
type Event string

// The events. docs/how-to/monitoring.md describes them.
const (
	SignIn        Event = "sign-in"
	SignInRefused Event = "sign-in-refused"
	SessionEnded  Event = "session-ended"
	// TokenCreated and TokenRevoked are about API tokens.
	TokenCreated      Event = "token-created"
	TokenRevoked      Event = "token-revoked" // #nosec G101 -- a name
	SigningKeyRotated Event = "signing-key-rotated"
	SecretKeyRotated  Event = "secret-key-rotated"
	OperatorCommand   Event = "operator-command"
	SecretsExported   Event = "secrets-exported"
)

// All are all events.
var All = []Event{SignIn, SignInRefused, SessionEnded, TokenCreated, TokenRevoked, SigningKeyRotated, SecretKeyRotated, OperatorCommand, SecretsExported}

// Attr returns the attribute of the lines of an event.
func (e Event) Attr() slog.Attr { return slog.String("event", string(e)) }
