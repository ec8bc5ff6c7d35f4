package marquee

import (
	"context"
	"errors"
	"log/slog"

	"marquee/engine/folder"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// watchFolder begins to watch Options.SchemaFolder.
func (s *Server) watchFolder() (err error) {
	s.watcher, err = folder.Watch(s.options.SchemaFolder, s.options.Log)
	return err
}

// load compiles the types of the application, of Schemas and of SchemaFolder.
func (o *Options) load() (*schema.Registry, error) {
	var sources []schema.Source
	if o.Schemas != nil {
		sources = append(sources, schema.Source{Name: "schemas", FS: o.Schemas})
	}
	if o.SchemaFolder != "" {
		opened, err := folder.Open(o.SchemaFolder)
		if err != nil {
			return nil, err
		}
		defer opened.Close()
		for _, name := range opened.Unread() {
			o.Log.Warn("a folder within the folder of schemas is not read: only "+folder.Common+" is", slog.String("folder", name))
		}
		sources = append(sources, schema.Source{Name: o.SchemaFolder, FS: opened})
	}
	return o.Application.Load(sources...)
}

// followFolder serves the schemas of SchemaFolder whenever they change, until the
// context ends.
func (s *Server) followFolder(ctx context.Context) {
	s.watcher.Follow(ctx, nil, false, func(again bool) bool { return s.reload(ctx, again) })
}

// reload serves the schemas of SchemaFolder. A set with a mistake is refused as a
// whole, and the previous one remains. It reports whether to try again, because of the
// store or of the objects in it. A reload that tries again does not log what the log has
// already.
func (s *Server) reload(ctx context.Context, again bool) (pending bool) {
	log := s.options.Log
	types, err := s.options.load()
	if err == nil {
		err = s.Migrate(ctx, types)
	}
	_, pending = store.CodeOf(err)
	served := types != nil && s.engine.Registry() == types
	switch {
	case err == nil:
		log.Info("schemas loaded", slog.Int("types", len(types.Types())))
	case served: // the values of new secrets are encrypted after the set is served
		log.Warn("schemas loaded, but not all stored secrets are encrypted yet; retrying", slog.String("cause", err.Error()))
		pending = true
	case pending:
		log.Warn("the schemas cannot be served yet; the previous ones remain; retrying", slog.String("cause", err.Error()))
	case errors.Is(err, folder.ErrNotFound):
		log.Error("the folder of schemas does not exist; the previous schemas remain", slog.String("folder", s.options.SchemaFolder))
	default:
		var problems schema.Problems
		pending = errors.As(err, &problems) && problems.Passing()
		if !again || s.refused != err.Error() {
			log.Error("the schemas were refused; the previous ones remain", slog.String("reason", err.Error()))
		}
		s.refused = err.Error()
	}
	return pending
}
