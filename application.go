package marquee

import (
	"cmp"
	"context"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"marquee/auth"
	"marquee/console"
	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/openapi"
	"marquee/engine/rest"
	"marquee/engine/review"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/engine/transfer"
	"marquee/schemas/base"
)

// Application is what a program brings to the engine: types, and what their
// schemas cannot express. Each field may be left out. The zero Application serves
// networks, users, roles and teams alone.
type Application struct {
	// Name is stored in the store, which cannot be opened for an application of another
	// name. Do not change it.
	Name string
	// Schemas holds one type a file, and shared definitions in the folder common. A
	// file that has the name of one of package base takes its place.
	Schemas fs.FS
	// Messages are the messages of the hooks and routes.
	Messages *message.Set
	// DefaultPermission is required to write types whose schemas name no permission;
	// "" is schema.DefaultPermission.
	DefaultPermission string
	// Permissions are permissions that roles can hold, besides DefaultPermission and
	// those that the schema of roles lists, such as MANAGE_SYSTEM.
	Permissions []string
	// Hooks are the rules of types, by name.
	Hooks map[string]engine.Hooks
	// Routes are paths besides those of the types.
	Routes []rest.Route
	// OpenAPI documents Routes, as openapi.Fragment describes.
	OpenAPI openapi.Fragment
	// Console is what the application adds to the console.
	Console console.Module
	// Lookups are the lists that x-lookup names in schemas.
	Lookups map[string]func(id int64) (members []engine.Member, found bool)
	// Collections are those that hooks and routes keep records in by themselves.
	Collections []store.Collection
	// Due are the properties whose objects are reviewed when their time has passed.
	Due []review.Due
	// Files import and export the files of objects, by type; Verifiers check them.
	Files     map[string]transfer.Files
	Verifiers map[string]func(context.Context, store.Snapshot, *store.Record) ([]string, error)
	// Demo returns demonstration data for an empty store.
	Demo func(DemoOptions) ([]DemoStep, error)
	// Open prepares the rules, before anything is served.
	Open func(ctx context.Context, e *engine.Engine) error
	// Start begins work in the background, some of which is done once in every
	// interval; stop ends it.
	Start func(e *engine.Engine, interval time.Duration, log *slog.Logger) (stop func())
	// Pass does at once what the work in the background does in every interval.
	Pass func(ctx context.Context, e *engine.Engine) error
}

// Load compiles the types of the application and those of more folders, which can
// add types, but not replace any. An error about them is of type schema.Problems.
func (a *Application) Load(more ...schema.Source) (*schema.Registry, error) {
	var sets []*message.Set
	if a.Messages != nil {
		sets = append(sets, a.Messages)
	}
	messages, err := message.NewCatalogue(sets...)
	if err != nil {
		return nil, err
	}
	var files fs.FS = base.FS
	if a.Schemas != nil {
		files = base.Extend(a.Schemas)
	}
	options := schema.Options{Messages: messages, Paths: a.paths(), DefaultPermission: a.DefaultPermission, Permissions: a.Permissions}
	return schema.LoadWith(options, append([]schema.Source{{FS: files}}, more...)...)
}

// Document returns the OpenAPI document of some types as a server of the application
// serves them.
func (a *Application) Document(types *schema.Registry, o openapi.Options) ([]byte, error) {
	return openapi.Build(types, o, a.fragments()...)
}

// documents are the routes of the OpenAPI document and of its pages, and of the console
// unless it is left out. An application can have a page of its own at the path /.
func (a *Application) documents(o *Options) []rest.Route {
	isHome := func(route rest.Route) bool { return route.Path == openapi.HomePath }
	documents := openapi.NewDocuments(o.Version, o.PublicURL, a.fragments()...)
	var pages []rest.Route
	if !o.NoConsole {
		documents.Console, pages = console.Path, console.Routes(a.Console)
	}
	routes := slices.Concat(documents.Routes(), pages)
	if slices.ContainsFunc(a.Routes, isHome) {
		routes = slices.DeleteFunc(routes, isHome)
	}
	return routes
}

// fragments document the routes besides those of the types.
func (a *Application) fragments() []openapi.Fragment {
	fragments := []openapi.Fragment{auth.OpenAPI}
	if a.OpenAPI != nil {
		fragments = append(fragments, a.OpenAPI)
	}
	return fragments
}

// paths are those of the routes below /api/v1 that no type can have.
func (a *Application) paths() (paths []string) {
	for _, route := range a.Routes {
		if path, below := strings.CutPrefix(route.Path, "/api/v1/"); below && route.ContentType == "" {
			paths = append(paths, path)
		}
	}
	return paths
}

// hooks are those of the application after others.
func (a *Application) hooks(others map[string]engine.Hooks) map[string]engine.Hooks {
	all := maps.Clone(others)
	for name, hooks := range a.Hooks {
		all[name] = all[name].Then(hooks)
	}
	return all
}

func (a *Application) collections() []store.Collection {
	return slices.Concat(review.Collections(), []store.Collection{{Name: applicationCollection}}, a.Collections)
}

// name is Name, or "none".
func (a *Application) name() string { return cmp.Or(a.Name, "none") }
