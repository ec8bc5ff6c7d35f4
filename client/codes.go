package client

// The codes by which the client decides whether a request is sent again.
const (
	// CodeConflict: the request conflicts with others, and nothing was stored.
	CodeConflict = "error.conflict"
	// CodeOutcomeUnknown: the server does not know whether the request was stored.
	CodeOutcomeUnknown = "error.outcome.unknown"
)
