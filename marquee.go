// Package marquee embeds the engine into a program: types from JSON Schemas, rules
// in Go, and a store become an http.Handler. It imports the engine, auth, the
// console, the base schemas and the embedded store, and no application. Begin with New and Application.
package marquee

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"marquee/auth"
	"marquee/auth/rights"
	"marquee/auth/seal"
	"marquee/engine"
	"marquee/engine/rest"
	"marquee/engine/review"
	"marquee/engine/schema"
	"marquee/engine/store/sqlite"
)

// New opens a store, serves the types on it, and begins the work in the background.
func New(options Options) (*Server, error) {
	s, err := Open(context.Background(), options)
	if err != nil {
		return nil, err
	}
	s.Start()
	return s, nil
}

// Open is New without the work in the background, for which there is Start. Ctx
// applies only to opening.
func Open(ctx context.Context, options Options) (*Server, error) {
	options.setDefaults()
	s := &Server{options: options, store: options.Store, served: make(chan struct{}, 1)}
	if options.Types == nil {
		if options.SchemaFolder != "" { // before the files are read
			if err := s.watchFolder(); err != nil {
				return nil, err
			}
		}
		var err error
		if s.options.Types, err = options.load(); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	if s.store == nil {
		opened, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(options.Folder, "marquee.db"), Log: options.Log})
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.store, s.owned = opened, opened
	}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Front returns a handler with a listener (rest.Server.Listen) that answers requests
// while Open opens a store with the same options, which can take minutes when objects
// have to be indexed: /healthz as ever, and anything else with 503 error.starting, which
// names the step that a function returns. Its Forward then lets the Server answer.
func Front(options Options, step func() string) (*rest.Server, error) {
	return rest.Front(options.rest(), step)
}

func (s *Server) open(ctx context.Context) error {
	o := &s.options
	if err := checkApplication(ctx, s.store, &o.Application, o.Types); err != nil {
		return err
	}
	if o.Accept != nil {
		if err := o.Accept(ctx); err != nil {
			return err
		}
	}
	if err := s.store.EnsureCollections(ctx, auth.Collections()); err != nil {
		return err
	}
	if o.Sealer == nil && s.owned != nil {
		keys, err := auth.StoreKey(ctx, s.store, filepath.Join(o.Folder, "marquee.key"))
		if err == nil {
			o.Sealer, err = seal.New(keys...)
		}
		if err != nil {
			return fmt.Errorf("the secret key cannot be used: %w", err)
		}
	}
	if name := typeWithSecrets(o.Types); name != "" && o.Sealer == nil {
		return fmt.Errorf("the type %s has secrets, and there is no key to encrypt them with: set Options.Sealer", name)
	}
	var err error
	s.auth, err = auth.New(ctx, auth.Config{Store: s.store, Sealer: o.Sealer, Lifetimes: o.Lifetimes, Passwords: o.Passwords, SignIns: o.SignIns,
		MaxSessions: o.MaxSessions, Networks: o.Networks, PublicURL: o.PublicURL, BuiltIn: o.Types.BuiltInPermissions(), Now: o.Now})
	if err != nil {
		return err
	}
	app := &o.Application
	s.engine, err = engine.New(ctx, engine.Config{Store: s.store, Access: rights.Access{}, Sealer: o.Sealer, Now: o.Now,
		Hooks: app.hooks(s.auth.Hooks()), Lookups: app.Lookups, Internal: slices.Concat(auth.Collections(), app.collections())}, o.Types)
	if err != nil {
		return err
	}
	if app.Open != nil {
		if err := app.Open(ctx, s.engine); err != nil {
			return err
		}
	}
	s.reviewer, s.ready = review.New(app.Due), newProbe(s.store.Check)
	config := o.rest()
	config.Engine, config.Auth, config.Ready, config.Notes = s.engine, s.auth, s.check, s.notes
	config.SchemaSet, config.Stored = o.SchemaSet, s.auth.Stored
	config.Routes = slices.Concat(s.auth.Routes(), app.documents(o), app.Routes)
	s.rest, err = rest.New(config)
	if err != nil || o.First.Password == "" {
		return err
	}
	empty, err := s.Empty(ctx)
	if err == nil && empty {
		err = s.MakeFirst(ctx, o.First)
	}
	return err
}

// typeWithSecrets is the name of a type that has secrets, or "".
func typeWithSecrets(types *schema.Registry) string {
	for _, t := range types.Types() {
		if t.Shape.HasSecrets {
			return t.Served().Name
		}
	}
	return ""
}
