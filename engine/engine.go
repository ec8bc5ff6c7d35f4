// Package engine serves the objects of every resource type through one write
// path and one read path (docs/architecture.md). It knows no adapter and no
// protocol: package rest calls it, a store.Store keeps its records.
package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// Caller is who asks. It is made by the side that authenticates.
type Caller struct {
	// User is the id of the user, "" for the service itself.
	User string
	// System callers may do everything: they bootstrap and import.
	System bool
	// Grants holds what the caller may do, by network.
	Grants map[string]Grant
	// Dormant are the networks that are not ACTIVE and that the caller would
	// manage: he may see and change the network itself, and nothing in it.
	Dormant map[string]bool
}

// Grant is what a caller's roles allow in one network.
type Grant struct {
	// Network and Team say whether there is a role of that scope.
	Network, Team bool
	// NetworkPermissions come from roles of scope NETWORK, and hold for the
	// whole network; TeamPermissions hold within what the TEAM scope shows.
	NetworkPermissions, TeamPermissions map[string]bool
}

// Holds reports whether a permission is held, in whatever scope.
func (g Grant) Holds(permission string) bool {
	return g.NetworkPermissions[permission] || g.TeamPermissions[permission]
}

// Access decides what callers see and may change. It is the one place of
// visibility: every read and every reference asks it.
type Access interface {
	// Visible is the condition that objects of a type must meet for the caller
	// to see them; network is "" for a global type asked for without a network.
	Visible(caller *Caller, t *schema.Type, network string) query.Expr
	// MayWrite returns an error of kind Forbidden when the caller may not write
	// this object; exists tells whether there is one.
	MayWrite(caller *Caller, t *schema.Type, network, id string, exists bool) error
	// MayReadSecrets tells whether secret properties are shown.
	MayReadSecrets(caller *Caller, t *schema.Type, network string) bool
	// MayReadHistory returns an error of kind Forbidden when the caller may not
	// read the history of a network, or of one type in it when t is not nil.
	MayReadHistory(caller *Caller, t *schema.Type, network string) error
}

// Sealer encrypts secrets at rest. The place binds a secret to its property:
// what is sealed at one place does not open at another.
type Sealer interface {
	Seal(plain, place string) (string, error)
	Open(sealed, place string) (string, error)
}

// Config is what an Engine is made of.
type Config struct {
	Store  store.Store
	Access Access
	Sealer Sealer
	// Hooks are the rules by the name of the type.
	Hooks map[string]Hooks
	// Lookups are the lists of the service that x-lookup names: each tells what
	// there is to show of an id, besides the id, in the order of its members.
	Lookups map[string]func(id int64) (members []Member, found bool)
	// Internal are collections besides those of the types.
	Internal []store.Collection
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Member is one text that a list tells of an id.
type Member struct{ Name, Text string }

// Engine serves the types of its registry.
type Engine struct {
	Config
	registry atomic.Pointer[schema.Registry]

	swap sync.Mutex
	// streams holds a place for the one Stream that is written at a time.
	streams chan struct{}
	// writes is held for reading by each write, and guards pending: what a
	// registry that is about to be served misses, by the name of the type.
	writes  sync.RWMutex
	pending map[string]missing
}

// New makes an engine that serves a registry.
func New(ctx context.Context, config Config, registry *schema.Registry) (*Engine, error) {
	if config.Now == nil {
		config.Now = time.Now
	}
	e := &Engine{Config: config, streams: make(chan struct{}, 1)}
	if err := e.Swap(ctx, registry); err != nil {
		return nil, err
	}
	return e, nil
}

// Registry is the set of types that is served now.
func (e *Engine) Registry() *schema.Registry { return e.registry.Load() }

// Swap makes the store ready for a new registry and serves it from then on;
// requests under way end with the one that they began with. Reads go on
// meanwhile, and so do writes, but while values that were not unique become
// so. A search by words may miss objects while they are indexed by other
// properties than before. Errors are schema.Problems when stored objects have
// the same value of a property that is to be unique; the registry before stays.
func (e *Engine) Swap(ctx context.Context, registry *schema.Registry) error {
	e.swap.Lock()
	defer e.swap.Unlock()
	collections, err := e.collections(registry)
	if err != nil {
		return err
	}
	// The indexes of the registry before stay until the new one is served.
	both, err := e.withIndexesBefore(collections)
	if err != nil {
		return err
	}
	if err := e.Store.EnsureCollections(ctx, both); err != nil {
		return err
	}
	if err := e.alone(ctx, func(ctx context.Context, l *lease) error { return e.serve(ctx, l, registry) }); err != nil {
		return err
	}
	// Indexes that nothing asks for any more cost something and break nothing:
	// those that cannot be dropped now are by the next swap.
	_ = e.Store.EnsureCollections(ctx, collections)
	return nil
}

// serve makes the objects findable as a registry finds them, and serves it.
func (e *Engine) serve(ctx context.Context, l *lease, registry *schema.Registry) error {
	var known map[string]findable
	err := e.Store.Read(ctx, func(s store.Snapshot) (err error) {
		known, _, err = remembered(ctx, s)
		return err
	})
	if err != nil {
		return err
	}
	var all []missing
	for _, t := range registry.Types() {
		f, noted := known[t.Name]
		if m := missingIn(t, f); len(m.terms)+len(m.unique) > 0 {
			m.noted = noted
			all = append(all, m)
		}
	}
	if len(all) > 0 {
		if err = e.prepare(ctx, l, all); err != nil {
			if failed := e.noteFailed(context.WithoutCancel(ctx), l, all); failed != nil {
				err = errors.Join(err, failed)
			}
		}
	}
	return e.publish(ctx, l, registry, err)
}

// publish ends the preparation of a registry, and serves it when nothing was
// wrong.
func (e *Engine) publish(ctx context.Context, l *lease, registry *schema.Registry, wrong error) error {
	e.writes.Lock()
	defer e.writes.Unlock()
	e.pending = nil
	if wrong != nil {
		return wrong
	}
	if err := e.remember(ctx, l, registry.Types()); err != nil {
		return err
	}
	e.registry.Store(registry)
	return nil
}

// collections are what the store must have for a registry.
func (e *Engine) collections(registry *schema.Registry) ([]store.Collection, error) {
	collections := append([]store.Collection{{Name: typeCollection}}, e.Internal...)
	for _, t := range registry.Types() {
		collection, err := CollectionOf(t)
		if err != nil {
			return nil, err
		}
		collections = append(collections, collection)
	}
	return collections, nil
}

// withIndexesBefore adds the indexes of the registry that is served now.
func (e *Engine) withIndexesBefore(collections []store.Collection) ([]store.Collection, error) {
	before := e.Registry()
	if before == nil {
		return collections, nil
	}
	both := slices.Clone(collections)
	for i, collection := range both {
		t, served := before.Type(collection.Name)
		if !served {
			continue
		}
		old, err := CollectionOf(t)
		if err != nil {
			return nil, err
		}
		both[i].Indexes = slices.Concat(collection.Indexes, old.Indexes)
	}
	return both, nil
}

// Type finds a type by its name; an error is of kind NotFound.
func (e *Engine) Type(name string) (*schema.Type, error) {
	t, ok := e.Registry().Type(name)
	if !ok {
		return nil, message.TypeUnknown.Error(message.Params{"type": name})
	}
	return t, nil
}

// CollectionOf says what the store needs for a type: the indexes that its
// schema names. Multi-valued properties are found by terms and need none.
func CollectionOf(t *schema.Type) (store.Collection, error) {
	collection := store.Collection{Name: t.Name}
	createTime := query.Field{System: query.CreateTime, Kind: query.Time}
	add := func(equal []query.Field, order query.Field) {
		collection.Indexes = append(collection.Indexes, store.Index{Equal: equal, Order: order})
	}
	for _, index := range t.Indexes {
		field, err := t.Field("index", index.Property)
		if err != nil {
			return collection, fmt.Errorf("%s: %w", t.File, err)
		}
		if field.Multiple() {
			continue
		}
		order := createTime
		if index.Order != "" {
			if order, err = t.Field("index", index.Order); err != nil {
				return collection, fmt.Errorf("%s: %w", t.File, err)
			}
		}
		add([]query.Field{field}, order)
	}
	for _, name := range t.Sort {
		field, err := t.SortField(name)
		if err != nil {
			return collection, fmt.Errorf("%s: %w", t.File, err)
		}
		add(nil, field)
	}
	return collection, nil
}

// Translate turns an error of the store into one for clients; others stay.
func Translate(err error) error {
	var known *message.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	if code, ok := store.CodeOf(err); ok {
		switch code {
		case store.CodeConflict:
			return message.ConflictUnresolved.Error(nil).Caused(err)
		case store.CodeUncertain:
			return message.OutcomeUnknown.Error(nil).Caused(err)
		case store.CodeTooLarge:
			return message.BatchTooLarge.Error(nil).Caused(err)
		case store.CodeUnavailable, store.CodeFull:
			e := message.StoreUnavailable.Error(nil).Caused(err)
			e.RetryAfter = 5 * time.Second
			return e
		case store.CodeDeadline:
			e := message.DeadlineExceeded.Error(nil).Caused(err)
			e.RetryAfter = time.Second
			return e
		case store.CodeBadPosition:
			return message.CursorInvalid.Error(message.Params{"parameter": "cursor"}).Caused(err)
		}
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		e := message.DeadlineExceeded.Error(nil).Caused(err)
		e.RetryAfter = time.Second
		return e
	}
	return err
}

// home is the network in which the records of a type are kept.
func home(t *schema.Type, network string) string {
	if t.Global {
		return ""
	}
	return network
}

// always and never tell the conditions that need no query.
func always(e query.Expr) bool {
	and, ok := e.(query.And)
	return ok && len(and) == 0
}

func never(e query.Expr) bool {
	or, ok := e.(query.Or)
	return ok && len(or) == 0
}
