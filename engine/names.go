package engine

import (
	"context"
	"sync/atomic"

	"marquee/engine/access"
	"marquee/engine/catalog"
	"marquee/engine/migration"
	"marquee/engine/read"
	"marquee/engine/store"
	"marquee/engine/write"
	"marquee/engine/written"
)

// The names that applications use, with the packages that define them.
type (
	Caller   = access.Caller
	Token    = access.Token
	Grant    = access.Grant
	TeamRole = access.TeamRole
	Access   = access.Access
	// Permissions is a set of permissions.
	Permissions = access.Permissions

	Sealer = catalog.Sealer
	// Resealing is the progress of Engine.Reseal.
	Resealing = migration.Resealing
	// RotatingSealer is a Sealer whose key can be replaced.
	RotatingSealer = catalog.RotatingSealer
	LookupList     = catalog.LookupList
	Member         = catalog.Member

	Operation       = write.Operation
	Batch           = write.Batch
	Removal         = write.Removal
	FieldValidation = write.FieldValidation
	Result          = write.Result
	Unknown         = write.Unknown
	Stream          = write.Stream
	StreamAnswer    = written.Answer
	Objects         = write.Objects
	// Change is what a hook gets of an object: Before and After, what the client sent,
	// and methods that refuse, warn and add. "go doc marquee/engine/write.Change" shows
	// them all.
	Change = write.Change
	// Writing is the write that a hook is part of: it reads, locks and writes other
	// objects in the same transaction. "go doc marquee/engine/write.Writing" shows how.
	Writing    = write.Writing
	Dependants = write.Dependants
	Following  = write.Following
	Weight     = write.Weight
	// Idempotency identifies a request that may be repeated.
	Idempotency = write.Idempotency

	Reading     = read.Reading
	Found       = store.Found
	Object      = read.Object
	Answer      = read.Answer
	Projection  = read.Projection
	Listing     = read.Listing
	HistoryPage = read.HistoryPage
	Feed        = read.Feed
	Events      = read.Events
	Page        = read.Page
	PageWriter  = read.PageWriter
)

// The ways to treat unknown properties.
const (
	BySchema = write.BySchema
	Warn     = write.Warn
	Strict   = write.Strict
	Ignore   = write.Ignore
)

// KeyUnsupported is the error of a request that cannot have an idempotency key.
func KeyUnsupported() error { return write.KeyUnsupported() }

// WithDoubt returns a context for reads and writes that set doubt when they may leave
// something out because of moves between teams that have not been followed up.
func WithDoubt(ctx context.Context, doubt *atomic.Bool) context.Context {
	return access.WithDoubt(ctx, doubt)
}
