package marquee

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"marquee/engine/catalog"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// applicationCollection has one record, which names the application that the store
// was made for.
const (
	applicationCollection = "engine_application"
	applicationKey        = "application"
)

// An ApplicationError reports that a store was made for another application. The
// names are those of Application.Name; "none" is the application without a name.
type ApplicationError struct{ Stored, Opened string }

// Error implements error.
func (e *ApplicationError) Error() string {
	return fmt.Sprintf("the store was made for the application %s, and cannot be opened for %s", e.Stored, e.Opened)
}

// checkApplication compares the application with the one that the store was made for,
// and stores its name in a new store. The error is an *ApplicationError if they differ.
func checkApplication(ctx context.Context, s store.Store, app *Application, types *schema.Registry) error {
	if err := EnsureApplication(ctx, s); err != nil {
		return err
	}
	stored, known := "", false
	err := s.Read(ctx, func(r store.Snapshot) (err error) {
		if stored, err = storedApplication(ctx, r); err == nil && stored == "" {
			known, err = isMadeFor(ctx, r, app, types)
		}
		return err
	})
	if err == nil && stored == "" && known {
		stored, err = storeApplication(ctx, s, app.name())
	}
	if err == nil && stored != "" && stored != app.name() {
		return &ApplicationError{Stored: stored, Opened: app.name()}
	}
	return err
}

// EnsureApplication makes the collections that StoredApplication reads, which a store of an
// earlier version may lack.
func EnsureApplication(ctx context.Context, s store.Store) error {
	return s.EnsureCollections(ctx, []store.Collection{{Name: applicationCollection}, {Name: catalog.TypeCollection}})
}

// storedApplication returns the name in the store, or "".
func storedApplication(ctx context.Context, s store.Snapshot) (name string, err error) {
	err = s.Get(ctx, applicationCollection, []store.Key{{ID: applicationKey}}, func(r *store.Record) error {
		var content struct{ Name string }
		err := json.Unmarshal(r.Document, &content)
		name = content.Name
		return err
	})
	return name, err
}

// isMadeFor reports whether a store without a name is certain to be of an application:
// it is new, or it has had all types of an application with a name. A store of an
// earlier version that was used without an application cannot be recognized.
func isMadeFor(ctx context.Context, s store.Snapshot, app *Application, types *schema.Registry) (bool, error) {
	known, err := catalog.ReadAll(ctx, s)
	if err != nil || len(known) == 0 {
		return err == nil, err
	}
	for _, t := range types.Types() {
		if _, found := known[t.Name]; !found {
			return false, nil
		}
	}
	return app.Name != "", nil
}

// storeApplication stores the name, unless another server has stored one meanwhile, and
// returns the stored name.
func storeApplication(ctx context.Context, s store.Store, name string) (stored string, err error) {
	content, err := json.Marshal(map[string]string{"name": name})
	if err != nil {
		return "", err
	}
	err = s.Write(ctx, func(tx store.Tx) error {
		if stored, err = storedApplication(ctx, tx); err != nil || stored != "" {
			return err
		}
		stored = name
		record := store.InternalWrite(store.Record{Key: store.Key{ID: applicationKey}}, "ACTIVE", bytes.Clone(content), time.Now())
		return tx.Put(ctx, applicationCollection, []store.Write{record})
	})
	return stored, err
}

// StoredApplication returns the name of the application that a store was made for: "none" if
// it was one without a name, and "" if that is not known.
func StoredApplication(ctx context.Context, s store.Store) (name string, err error) {
	err = s.Read(ctx, func(r store.Snapshot) error {
		name, err = storedApplication(ctx, r)
		return err
	})
	return name, err
}

// CheckApplication returns an *ApplicationError if a store was made for another application.
func CheckApplication(ctx context.Context, s store.Store, app *Application) error {
	if err := EnsureApplication(ctx, s); err != nil {
		return err
	}
	stored, err := StoredApplication(ctx, s)
	if err == nil && stored != "" && stored != app.name() {
		return &ApplicationError{Stored: stored, Opened: app.name()}
	}
	return err
}
