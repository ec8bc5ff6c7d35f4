package resources

import (
	"context"
	"maps"
	"slices"

	"marquee/engine"
	"marquee/engine/rest"
	"marquee/engine/store"
	"marquee/engine/transfer"
	"marquee/resources/articlesearch"
	"marquee/resources/asset"
	"marquee/resources/coupon"
	"marquee/resources/creative"
	"marquee/resources/inventory"
	"marquee/resources/lineitem"
	"marquee/resources/lookup"
	"marquee/resources/review"
	"marquee/resources/segment"
)

// Service holds the rules of the advertising service that no schema can say:
// hooks for the engine, routes for the API.
type Service struct {
	hooks   map[string]engine.Hooks
	routes  []rest.Route
	uploads map[string]rest.Upload
	open    map[string]func(*rest.Call, string) error
	// reviewer has objects judged again that nobody writes.
	reviewer *review.Reviewer
	// locations are the cities and regions that targeting names.
	locations lookup.Locations
	// Assets may be configured until the service serves.
	Assets *asset.Rules
	// Articles are found by what they say once the search is started.
	Articles *articlesearch.Search
}

// New makes the rules of all types.
func New() *Service {
	s := &Service{hooks: map[string]engine.Hooks{}, uploads: map[string]rest.Upload{}, open: map[string]func(*rest.Call, string) error{}, Assets: asset.New(), Articles: articlesearch.New()}
	s.routes = append(s.routes, lookup.Devices(), s.locations.Route(), s.Articles.Route())
	s.add(s.Assets.Hooks())
	s.uploads["assets"], s.open[asset.Path] = s.Assets.Upload, s.Assets.Deliver
	s.add(coupon.Hooks())
	s.add(creative.Hooks(s.Assets.URL))
	s.add(inventory.Hooks())
	s.add(lineitem.Hooks())
	s.add(segment.Hooks())
	s.routes = append(s.routes, segment.Routes()...)
	s.reviewer = review.New([]review.Due{lineitem.Due(), {Type: "segments", Property: "expiryTime"}}, slices.Concat(lineitem.Rules(), creative.Rules()))
	s.add(s.reviewer.Hooks())
	return s
}

// add joins hooks to those that there are: an object may matter to the rules of
// several types.
func (s *Service) add(hooks map[string]engine.Hooks) {
	for name, more := range hooks {
		s.hooks[name] = join(s.hooks[name], more)
	}
}

type writeHook = func(context.Context, *engine.Writing, []*engine.Change) error

func join(a, b engine.Hooks) engine.Hooks {
	both := func(first, second writeHook) writeHook {
		switch {
		case first == nil:
			return second
		case second == nil:
			return first
		}
		return func(ctx context.Context, w *engine.Writing, changes []*engine.Change) error {
			if err := first(ctx, w, changes); err != nil {
				return err
			}
			return second(ctx, w, changes)
		}
	}
	a.Merged, a.Judged, a.Written = both(a.Merged, b.Merged), both(a.Judged, b.Judged), both(a.Written, b.Written)
	if b.Prepare != nil {
		a.Prepare = b.Prepare
	}
	if b.Derived != nil {
		a.Derived = b.Derived
	}
	return a
}

// Hooks are those of the types, besides others.
func (s *Service) Hooks(others map[string]engine.Hooks) map[string]engine.Hooks {
	all := maps.Clone(s.hooks)
	for name, other := range others {
		joined := join(other, all[name])
		joined.Shown, joined.Hidden = other.Shown, other.Hidden
		all[name] = joined
	}
	return all
}

// Collections are what the store must have besides the types.
func Collections() []store.Collection {
	return append(slices.Concat(asset.Collections(), review.Collections()), store.Collection{Name: lineitem.ApprovedCollection}, lookup.Collection())
}

// Files are what objects have besides their documents, by the types.
func Files() map[string]transfer.Files { return asset.Files() }

// Lookups are the lists of the service that schemas name.
func (s *Service) Lookups() map[string]func(int64) ([]engine.Member, bool) {
	return map[string]func(int64) ([]engine.Member, bool){"locations": s.locations.Find}
}

// Open makes the rules ready: what was imported for them is taken in.
func (s *Service) Open(ctx context.Context, e *engine.Engine) error {
	return s.locations.Refresh(ctx, e.Store)
}

// Serve adds the routes and uploads to those of a server.
func (s *Service) Serve(config *rest.Config) {
	config.Routes = append(config.Routes, s.routes...)
	config.Uploads, config.Open = s.uploads, s.open
}
