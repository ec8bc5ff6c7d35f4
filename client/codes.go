package client

// The codes that decide whether the client sends a request again.
const (
	// CodeConflict: the request conflicts with others, and nothing was stored.
	CodeConflict = "error.conflict"
	// CodeOutcomeUnknown: the server does not know whether the request was stored.
	CodeOutcomeUnknown = "error.outcome.unknown"

	// codeHeaderInvalid and codeKeysTooMany: the request cannot have an idempotency key.
	codeHeaderInvalid = "error.header.invalid"
	codeKeysTooMany   = "error.idempotency.keys.too.many"
)

// CodePositionInvalid: a position in the changes is not, or no longer, valid.
const CodePositionInvalid = "error.position.invalid"
