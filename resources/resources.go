// Package resources is the advertising service: the rules of its types that a
// JSON Schema cannot express, and its demonstration data. It may import engine,
// schemas and package marquee, but no store adapter. Begin with Application,
// which lists the packages of the types.
package resources

import (
	"context"
	_ "embed"
	"log/slog"
	"time"

	"marquee"
	"marquee/engine"
	"marquee/engine/review"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/resources/article"
	"marquee/resources/asset"
	"marquee/resources/catalogue"
	"marquee/resources/coupon"
	"marquee/resources/creative"
	"marquee/resources/device"
	"marquee/resources/inventory"
	"marquee/resources/lineitem"
	"marquee/resources/location"
	"marquee/resources/panels"
	"marquee/resources/segment"
	"marquee/schemas"
)

// routes documents the routes of the types.
//
//go:embed openapi.json
var routes []byte

// Service holds the rules of the advertising service.
type Service struct {
	// locations are the countries, regions and cities that targeting names.
	locations location.Lookup
	// Assets may be configured until the service serves requests.
	Assets *asset.Rules
	// Articles are found by their text once the service has started.
	Articles *article.Search
}

// New makes the rules of all types.
func New() *Service { return &Service{Assets: asset.New(), Articles: article.New()} }

// ManageBusiness is the permission to write types whose schemas name none.
const ManageBusiness = "MANAGE_BUSINESS"

// Application is the service as package marquee serves it.
func (s *Service) Application() marquee.Application {
	app := marquee.Application{
		Name:              "advertising",
		Schemas:           schemas.FS,
		Messages:          &catalogue.Messages,
		DefaultPermission: ManageBusiness,
		Hooks:             map[string]engine.Hooks{},
		Lookups:           map[string]func(int64) ([]engine.Member, bool){"locations": s.locations.Find},
		Collections: append(asset.Collections(), store.Collection{Name: lineitem.ApprovedCollection},
			location.Collection()),
		Due:       []review.Due{lineitem.Due(), {Type: "segments", Property: "expiryTime"}},
		Files:     asset.Files(),
		Verifiers: map[string]func(context.Context, store.Snapshot, *store.Record) ([]string, error){"assets": asset.Verify},
		OpenAPI:   routes,
		Console:   panels.Module(func() string { return s.Assets.CDN }),
		Demo:      Demo,
		Open:      func(ctx context.Context, e *engine.Engine) error { return s.locations.Refresh(ctx, e.Store) },
		Start:     s.start,
		Pass:      func(ctx context.Context, e *engine.Engine) error { return s.locations.Refresh(ctx, e.Store) },
	}
	app.Routes = append(app.Routes, device.Route(), s.locations.Route(), s.Articles.Route())
	app.Routes = append(app.Routes, s.Assets.Routes()...)
	app.Routes = append(app.Routes, segment.Routes()...)
	// An object may matter to the rules of several types.
	for _, hooks := range []map[string]engine.Hooks{s.Assets.Hooks(), coupon.Hooks(), creative.Hooks(s.Assets.URL),
		inventory.Hooks(), lineitem.Hooks(), segment.Hooks()} {
		for name, more := range hooks {
			app.Hooks[name] = app.Hooks[name].Then(more)
		}
	}
	return app
}

// LoadSchemas loads the types of the service and those of more folders.
func LoadSchemas(more ...schema.Source) (*schema.Registry, error) {
	app := New().Application()
	return app.Load(more...)
}

// stopTime is the maximum time that the shutdown waits for work on a store that does not answer.
const stopTime = time.Second

// start fills the index of articles and follows their changes, takes in locations
// that are imported, and removes files that no asset has any more once an hour.
func (s *Service) start(e *engine.Engine, every time.Duration, log *slog.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	stopSearch := s.Articles.Start(e, log)
	collected, followed := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(collected)
		asset.Run(ctx, e.Store, log)
	}()
	go func() {
		defer close(followed)
		s.locations.Follow(ctx, e.Store, 10*time.Second, every, log)
	}()
	return func() {
		cancel()
		stopSearch()
		late := time.After(stopTime)
		for _, ended := range []chan struct{}{collected, followed} {
			select {
			case <-ended:
			case <-late:
				return
			}
		}
	}
}
