package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"marquee/auth"
	"marquee/engine"
	"marquee/engine/query"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/resources"
	"marquee/schemas"
)

// storeFlags are the settings of every command that opens the store.
type storeFlags struct {
	Store         string `default:"sqlite:./marquee-data/marquee.db" help:"Where the records are: sqlite:PATH, or mongodb://HOST,…/DATABASE, or mongodb+srv://HOST/DATABASE."`
	Schemas       string `type:"existingdir" help:"Folder with more resource types; it is watched while the service runs." placeholder:"DIR"`
	SecretKey     string `help:"Key that secrets are encrypted with: base64 of 32 bytes, the same for all servers of a database. Without it, a key file is used: beside the SQLite file, or ./marquee-data/marquee.key." placeholder:"BASE64"`
	SecretKeyFile string `help:"File with that key." placeholder:"FILE"`
}

// service is the opened store with the engine and the sign-in on it.
type service struct {
	store  store.Store
	engine *engine.Engine
	auth   *auth.Service
	// resources are the rules of single types.
	resources *resources.Service

	mu     sync.Mutex
	reason string // why the last set of schemas was refused
}

// open opens the store and serves the types of the schemas on it.
func (f *storeFlags) open(ctx context.Context) (*service, error) {
	registry, err := f.load()
	if err != nil {
		return nil, err
	}
	opened, err := openStore(ctx, f.Store)
	if err != nil {
		return nil, err
	}
	s := &service{store: opened, resources: resources.New()}
	if err := s.start(ctx, f, registry); err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return s, nil
}

func (s *service) start(ctx context.Context, f *storeFlags, registry *schema.Registry) error {
	if err := s.store.EnsureCollections(ctx, auth.Collections()); err != nil {
		return err
	}
	key, err := f.key(ctx, s.store)
	if err != nil {
		return fmt.Errorf("the secret key cannot be used: %w", err)
	}
	sealer, err := auth.NewSealer(key)
	if err != nil {
		return err
	}
	if s.auth, err = auth.NewService(ctx, s.store, sealer, auth.DefaultLifetimes, time.Now); err != nil {
		return err
	}
	s.engine, err = engine.New(ctx, engine.Config{Store: s.store, Access: auth.Access{}, Sealer: sealer,
		Hooks: s.resources.Hooks(s.auth.Hooks()), Lookups: s.resources.Lookups(), Internal: slices.Concat(auth.Collections(), resources.Collections())}, registry)
	if err != nil {
		return err
	}
	return s.resources.Open(ctx, s.engine)
}

// load compiles the built-in types and those of the folder.
func (f *storeFlags) load() (*schema.Registry, error) {
	sources := []schema.Source{{FS: schemas.FS}}
	if f.Schemas != "" {
		folder, err := rooted(f.Schemas)
		if err != nil {
			return nil, err
		}
		sources = append(sources, schema.Source{Name: f.Schemas, FS: folder})
	}
	return schema.Load(sources...)
}

// rooted is a folder out of which no link leads.
func rooted(dir string) (fs.FS, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return root.FS(), nil
}

// empty reports whether the store holds no network and no user.
func (s *service) empty(ctx context.Context) (bool, error) {
	empty := true
	err := s.store.Read(ctx, func(r store.Snapshot) error {
		for _, collection := range []string{"networks", "users"} {
			n, err := r.Count(ctx, query.Query{Collection: collection})
			if err != nil {
				return err
			}
			empty = empty && n == 0
		}
		return nil
	})
	return empty, err
}

func (s *service) close() error { return s.store.Close() }
