package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"

	"marquee"
	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/rest"
	"marquee/engine/schema"
	"marquee/engine/transfer"
)

// destination is where an import writes, and what it has to know of it.
type destination struct {
	transfer.Target
	networks networkLister
	// service is the store, nil if a server has it open.
	service *service
	files   map[string]transfer.Files
	close   func() error
}

// destination opens the store, or connects to the server that has it open. A mistyped name
// is no reason to create a store.
func (c *importCommand) destination(ctx context.Context, files *os.Root) (d *destination, err error) {
	served, err := c.reach(ctx, func() error {
		s, err := c.openStore(ctx)
		if err == nil {
			d = &destination{Target: transfer.Local{Engine: s.Engine(), Files: s.application.Files, Folder: files}, networks: s.networks, service: s, files: s.application.Files, close: s.close}
		}
		return err
	})
	if err != nil || served == nil {
		return d, err
	}
	client := *served.client
	client.Timeout = transfer.WriteTime + operatorTimeout // longer than a server writes a chunk
	o := &operator{client: &client, close: served.close}
	app := c.program.application()
	target := servedTarget{o: o}
	if files != nil {
		target.files, err = filepath.Abs(files.Name())
	}
	if err == nil {
		target.registry, err = c.servedTypes(ctx, &app, target)
	}
	if err != nil {
		return nil, errors.Join(err, o.close())
	}
	return &destination{Target: target, networks: o.networks, files: app.Files, close: o.close}, nil
}

// openStore opens the store.
func (c *importCommand) openStore(ctx context.Context) (*service, error) {
	if c.Create {
		return c.open(ctx)
	}
	return c.openExisting(ctx, "create one with "+programName+" init, or import into a new one with --create")
}

// servedSet is the set of schemas of a server: its digest, and the files of its folder,
// nil if it has kept none.
type servedSet struct {
	Digest string
	Files  []byte
}

// servedTypes returns the types of a server: those of the folder that is given, or of the
// files that the server has, or of the application alone.
func (f *storeFlags) servedTypes(ctx context.Context, app *marquee.Application, t servedTarget) (*schema.Registry, error) {
	var set servedSet
	if err := t.o.call(ctx, http.MethodGet, "/operator/import", t.parameters(), nil, &set); err != nil {
		return nil, err
	}
	kept := func() (*schema.Registry, error) { return set.types(app, "the schemas of the server") }
	given := func() (*schema.Registry, error) {
		registry, _, err := f.load(app)
		return registry, err
	}
	for _, load := range []func() (*schema.Registry, error){given, kept, func() (*schema.Registry, error) { return app.Load() }} {
		if registry, err := load(); err == nil && registry.Digest() == set.Digest {
			return registry, nil
		}
	}
	return nil, errors.New("the server does not serve the schemas that this program knows: use the version of the program and the --application of the server, and name its folder with --schemas")
}

// servedTarget writes through a server.
type servedTarget struct {
	o        *operator
	registry *schema.Registry
	// files is the path of the folder with files, "" for none.
	files string
}

// parameters are those of each request.
func (t servedTarget) parameters() url.Values {
	if t.files == "" {
		return url.Values{}
	}
	return url.Values{"files": {t.files}}
}

// Registry implements transfer.Target.
func (t servedTarget) Registry() *schema.Registry { return t.registry }

// Write implements transfer.Target.
func (t servedTarget) Write(ctx context.Context, chunk transfer.Chunk) (w transfer.Written, err error) {
	parameters := t.parameters()
	for name, validation := range fieldValidations {
		if validation == chunk.FieldValidation && name != "" {
			parameters.Set("fieldValidation", name)
		}
	}
	err = t.o.call(context.WithoutCancel(ctx), http.MethodPost, "/operator/import", parameters, json.RawMessage(chunk.Encode()), &w)
	return w, t.faults(err)
}

// Stored implements transfer.Target.
func (t servedTarget) Stored(ctx context.Context, objects []transfer.ObjectID) (found []transfer.ObjectID, err error) {
	err = t.o.call(ctx, http.MethodPost, "/operator/import/stored", nil, objects, &found)
	return found, t.faults(err)
}

// faults turns the refusal of a server into the error that it was there.
func (t servedTarget) faults(err error) error {
	var refused *refusal
	if !errors.As(err, &refused) {
		return err
	}
	var problem struct {
		Messages []struct {
			message.Definition
			Params message.Params
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(refused.problem))
	decoder.UseNumber()
	if decoder.Decode(&problem) != nil || len(problem.Messages) == 0 {
		return err
	}
	known := &message.Error{Kind: rest.Kind(refused.status)}
	for _, m := range problem.Messages {
		d, there := t.registry.Catalogue().Lookup(m.Code)
		if !there {
			d = &m.Definition
		}
		if index, ok := m.Params["index"].(json.Number); ok {
			if n, err := index.Int64(); err == nil {
				m.Params["index"] = int(n)
			}
		}
		known.Messages = append(known.Messages, d.With(m.Params))
	}
	return known
}

// fieldValidations are the values of --field-validation.
var fieldValidations = map[string]engine.FieldValidation{"": engine.BySchema, "Warn": engine.Warn, "Strict": engine.Strict, "Ignore": engine.Ignore}
