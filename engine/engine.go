// Package engine serves the objects of every resource type. It joins the write
// path, the read path and the migration of schemas, and names what applications
// use of them. It imports write, read, migration, written, access, catalog, schema and store,
// and neither an adapter nor a protocol. Begin with Engine and Hooks;
// docs/contributing/architecture.md explains the whole.
package engine

import (
	"context"
	"time"

	"marquee/engine/catalog"
	"marquee/engine/migration"
	"marquee/engine/read"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/engine/write"
)

// Config holds the parts of an Engine.
type Config struct {
	Store  store.Store
	Access Access
	Sealer Sealer
	// Hooks are the rules of each type, by its name.
	Hooks map[string]Hooks
	// Lookups are the lists that x-lookup names.
	Lookups map[string]LookupList
	// Internal are collections besides those of the types.
	Internal []store.Collection
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Hooks are the rules of a type that its schema cannot express. Each may be nil.
// The hooks of a write receive all changes of their type in a round, so that one
// query can serve them all, and run again when the transaction does.
type Hooks struct {
	// Prepare runs once, before the transaction, and is the place for slow work.
	// It receives only changes that the caller may make to objects visible to it.
	Prepare func(ctx context.Context, c *Change) error
	// BeforeValidate runs after the merge. It may alter c.After and add faults.
	BeforeValidate func(ctx context.Context, w *Writing, changes []*Change) error
	// Validate runs when the changes of all types are merged. It may add faults and
	// warnings that depend on other objects.
	Validate func(ctx context.Context, w *Writing, changes []*Change) error
	// BeforeStore receives the valid changes that alter something. It may write
	// other objects through w.
	BeforeStore func(ctx context.Context, w *Writing, changes []*Change) error
	// BeforeRemove receives the objects that are about to be removed, with After nil. It may
	// refuse that with Writing.Add, and write other objects, such as those that refer to
	// the object: what refers to it afterwards refuses the removal. No other hook runs.
	BeforeRemove func(ctx context.Context, w *Writing, changes []*Change) error
	// Dependants are the objects that take values from objects of the type.
	Dependants []Dependants
	// BeforeRender runs before a record is rendered for a caller, and may replace
	// its document.
	BeforeRender func(caller *Caller, r *store.Record) error
	// Derive adds properties to records that are about to be rendered, with
	// Reading.Set, in the snapshot that they were read in. It must return errors of
	// Reading: it then runs again with fewer records.
	Derive func(ctx context.Context, r *Reading, records []*store.Record) error
	// Hidden are the top-level properties that BeforeRender hides in part. Nothing
	// reveals changes of the hidden part: lists cannot filter by these properties, a
	// change of nothing else leaves updateTime and updateUser, and the history shows a
	// caller only what the caller sees.
	Hidden []string
}

// Engine serves the types of its registry.
type Engine struct {
	*catalog.Catalog
	*migration.Migrator
	*read.Reader
	*write.Writer
	Access Access
}

// New makes an engine that serves a registry.
func New(ctx context.Context, config Config, registry *schema.Registry) (*Engine, error) {
	c := catalog.New(config.Store, config.Sealer, config.Lookups, config.Now)
	readHooks, writeHooks := make(map[string]read.Hooks, len(config.Hooks)), make(map[string]write.Hooks, len(config.Hooks))
	for name, h := range config.Hooks {
		readHooks[name] = read.Hooks{BeforeRender: h.BeforeRender, Derive: h.Derive, Hidden: h.Hidden}
		writeHooks[name] = write.Hooks{Prepare: h.Prepare, BeforeValidate: h.BeforeValidate, Validate: h.Validate, BeforeStore: h.BeforeStore, BeforeRemove: h.BeforeRemove,
			Dependants: h.Dependants, Derived: h.Derive != nil, Hidden: h.Hidden, Hide: readHooks[name].Hide()}
	}
	writer := write.New(c, config.Access, writeHooks)
	e := &Engine{
		Catalog:  c,
		Access:   config.Access,
		Migrator: migration.New(c, append([]store.Collection{write.FollowUps, write.Numbers, write.IdempotencyKeys, catalog.IntervalLocks, catalog.Erasures, catalog.Removed, catalog.Retention, catalog.ReferenceLocks, read.CursorKeys}, config.Internal...), writer.WriteAmended),
		Reader:   read.New(c, config.Access, readHooks),
		Writer:   writer,
	}
	if err := e.Migrate(ctx, registry); err != nil {
		return nil, err
	}
	if err := e.OpenIdempotency(ctx); err != nil {
		return nil, err
	}
	return e, e.OpenCursors(ctx)
}
