package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"marquee"
	"marquee/auth"
	"marquee/auth/password"
	"marquee/auth/seal"
	"marquee/auth/signing"
	"marquee/command/backup"
	"marquee/command/exit"
	"marquee/command/metrics"
	"marquee/engine/folder"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// storeFlags are the settings of every command that opens the store.
type storeFlags struct {
	Store         string `default:"sqlite:./marquee-data/marquee.db" help:"The store: sqlite:PATH, or mongodb://HOST,…/DATABASE, or mongodb+srv://HOST/DATABASE." placeholder:"URI" secret:"uri"`
	StoreFile     string `help:"File with that URI, for one with a password." placeholder:"FILE"`
	Schemas       string `type:"folder" help:"Folder with more resource types; ${program} serve watches it." placeholder:"DIR"`
	SecretKey     string `help:"Key that secrets are encrypted with: base64 of 32 bytes, the same for all servers of a database; more keys after it, separated by commas, only decrypt. Without it, a key file is used: beside the SQLite file, or ./marquee-data/marquee.key." placeholder:"BASE64" secret:""`
	SecretKeyFile string `help:"File with that key." placeholder:"FILE" followed:""`

	NoUpgradeBackup bool `help:"Upgrade an SQLite file to a new format without making a copy of it beside it."`

	MinPasswordLength int `default:"12" help:"Minimum number of characters of a new password, from 8 to 64." placeholder:"NUMBER"`
	served

	// copies is "from" or "to" for a store of marquee copy, whose flag has this name.
	copies string
	// opening is what the opening of the store is doing.
	opening *opening
	// log receives what the store logs; nil discards it.
	log *slog.Logger
	// tolerant starts with the schemas that were accepted last where those of the
	// folder are refused.
	tolerant bool
	// changes is the value of --schema-changes; "" compares nothing.
	changes string
	// accepted refuses schemas other than those that the servers of the store have accepted last.
	accepted bool
	// serving is the name of the server, whose sets of schemas are kept; "" is none.
	serving string
}

func (f *storeFlags) logger() *slog.Logger {
	if f.log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return f.log
}

// unservedFlags are the settings of commands that would leave out types whose
// schemas were not given.
type unservedFlags struct {
	KnownTypesOnly bool `help:"Omit types that have objects in the store but no schema."`
}

// check refuses to leave out types that nobody said should be left out.
func (f *unservedFlags) check(ctx context.Context, s *service) error {
	if f.KnownTypesOnly {
		return nil
	}
	names, err := s.Engine().Unserved(ctx)
	if err != nil || len(names) == 0 {
		return err
	}
	return fmt.Errorf("the store has objects of %s, whose schemas were not given: name their folder with --schemas, or leave them out with --known-types-only", listed(names))
}

// listed joins names as a sentence does.
func listed(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// service is the opened store, and the server of the application on it.
type service struct {
	*marquee.Server
	application marquee.Application

	sealer    *seal.Sealer
	resealing resealer
	checks    *checks
	counting  counting
	backups   backups
	// expires returns when the certificate of TLS expires; nil is without TLS.
	expires func() time.Time

	mu   sync.Mutex
	note string // what is wrong with the folder of schemas, for /readyz
	// refused is the reason why the folder of schemas was refused last, since when no set has
	// been accepted, and pending reports whether the refusal at the start may pass by itself.
	refused string
	since   time.Time
	pending bool
	// reloads counts the sets of schemas that were read while serving.
	reloads metrics.Reloads

	// register notes which sets are served, nil if nobody serves them, and sets is what was
	// known last.
	register *folder.Register
	sets     folder.Sets
	// keeping is held while the set that is served is noted, files are its files, and changes
	// how it differs from the one before it.
	keeping sync.Mutex
	files   servedFiles
	changes setChanges
}

// open opens the store, which is made if it does not exist, and serves the
// types of the schemas on it.
func (f *storeFlags) open(ctx context.Context) (*service, error) {
	return f.use(ctx, false, marquee.Options{})
}

// openExisting is open for a store that exists. The error for one that does
// not ends with the cure.
func (f *storeFlags) openExisting(ctx context.Context, cure string) (*service, error) {
	s, err := f.use(ctx, true, marquee.Options{})
	return s, f.missing(err, "--store, "+cure)
}

// missing returns an error of opening the store, with what to check if there is none.
func (f *storeFlags) missing(err error, check string) error {
	if code, _ := store.CodeOf(err); code == store.CodeNoStore {
		return fmt.Errorf("there is no store at %s: check %s", storeName(f.Store), check)
	}
	return err
}

// use opens the store and serves the application on it, with more options.
func (f *storeFlags) use(ctx context.Context, mustExist bool, options marquee.Options) (s *service, err error) {
	if f.opening == nil {
		f.opening = newOpening(storeName(f.Store), nil)
	}
	err = f.opening.persist(ctx, func(ctx context.Context) error {
		s, err = f.openOnce(ctx, mustExist, options)
		return err
	})
	return s, exit.InterruptedBy(ctx, err)
}

var refusedMinLength = fmt.Sprintf("--min-password-length must be from %d to %d", password.LeastMinLength, password.MostMinLength)

// refusesPasswords reports whether the minimum length of passwords is out of its range.
func (f *storeFlags) refusesPasswords() bool {
	return f.MinPasswordLength == 0 || password.Policy{MinLength: f.MinPasswordLength}.Check() != nil
}

// openOnce is one attempt of use.
func (f *storeFlags) openOnce(ctx context.Context, mustExist bool, options marquee.Options) (*service, error) {
	options.Passwords = password.Policy{MinLength: f.MinPasswordLength}
	if f.refusesPasswords() {
		return nil, exit.Usagef("%s", refusedMinLength)
	}
	app := f.program.application()
	registry, set, refusal := f.load(&app)
	if refusal != nil && !(f.tolerant && isRefusal(refusal)) {
		return nil, refusal
	}
	// With nothing to serve, no store is made.
	opened, err := f.openStore(ctx, mustExist || refusal != nil)
	if code, _ := store.CodeOf(err); code == store.CodeNoStore && refusal != nil {
		return nil, refusal
	}
	if err != nil {
		return nil, err
	}
	s := &service{application: app, files: servedFiles{files: set}, checks: newChecks()}
	if f.serving != "" {
		s.register = folder.NewRegister(opened, f.serving)
		options.SchemaSet = s.register.Number
	}
	options.Application, options.Store, options.Types, options.Log, options.Notes = app, opened, registry, f.log, s.notes
	if err := s.start(ctx, f, options, refusal); err != nil {
		var other *marquee.ApplicationError
		if errors.As(err, &other) {
			err = exit.Usagef("%w: %s", err, f.program.cureFor(other))
		}
		return nil, errors.Join(err, opened.Close())
	}
	return s, nil
}

// cureFor returns what to do about a store of another application.
func (p *Program) cureFor(err *marquee.ApplicationError) string {
	if p.Optional && (err.Stored == p.Application.Name || err.Stored == none) {
		return "use --application " + err.Stored + ", or another store"
	}
	return "use the program of that application, or another store"
}

// start serves a registry, or, where that is refused, the one that was accepted
// last.
func (s *service) start(ctx context.Context, f *storeFlags, options marquee.Options, refusal error) error {
	if err := options.Store.EnsureCollections(ctx, append(auth.Collections(), folder.Collection, backup.Collection)); err != nil {
		return err
	}
	keys, err := f.keys(ctx, options.Store)
	if exit.IsUsage(err) {
		return err
	}
	if err != nil {
		return fmt.Errorf("the secret key cannot be used: %w", exit.Cause(err))
	}
	if s.sealer, err = seal.New(keys...); err != nil {
		return err
	}
	err = options.Store.Read(ctx, func(r store.Snapshot) error { return signing.Check(ctx, r, s.sealer) })
	if _, failed := store.CodeOf(err); err != nil && !failed {
		where := f.keyFile()
		if f.SecretKey != "" {
			where = f.flag("secret-key")
		}
		return fmt.Errorf("the key of %s cannot be used: %w", where, err)
	}
	if err != nil {
		return err
	}
	options.Sealer = s.sealer
	options.Application.Collections = append(options.Application.Collections, folder.Collection, backup.Collection)
	options.Application.Routes = append(options.Application.Routes, importRoutes(options.Application.Files)...)
	options.Application.Routes = append(options.Application.Routes, setsRoute(), checkRoute(s), undeclaredRoute(s))
	if path := sqlitePath(f.Store); path != "" {
		file, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		options.Application.Routes = append(options.Application.Routes, backupRoute(s, file, programVersion(f.program.Version)))
	}
	if refusal == nil {
		if f.changes != "" {
			options.Accept = func(ctx context.Context) error { return s.compareWithKept(ctx, f, options.Store, options.Types) }
		}
		if f.accepted {
			options.Accept = func(ctx context.Context) error { return f.checkAccepted(ctx, options.Store, options.Types) }
		}
		s.Server, err = marquee.Open(ctx, options)
		if !isRefusal(err) || !f.tolerant {
			return err
		}
		refusal = err
	}
	return s.startWithKept(ctx, f, options, refusal)
}

// load compiles the types of an application and those of the folder, whose files
// it returns; they are nil where no folder is given, or nobody keeps them.
func (f *storeFlags) load(app *marquee.Application) (*schema.Registry, *folder.Recorder, error) {
	var sources []schema.Source
	var set *folder.Recorder
	if f.Schemas != "" {
		opened, err := folder.Open(f.Schemas)
		if err != nil {
			return nil, nil, err
		}
		defer opened.Close()
		for _, name := range opened.Unread() {
			f.logger().Warn("a folder within the folder of schemas is not read: only "+folder.Common+" is", slog.String("folder", filepath.Join(f.Schemas, name)))
		}
		source := schema.Source{Name: f.Schemas, FS: opened}
		if f.serving != "" {
			set = folder.Record(opened)
			source.FS = set
		}
		sources = append(sources, source)
	}
	registry, err := app.Load(sources...)
	return registry, set, err
}

func (s *service) close() error { return errors.Join(s.Close(), s.Store().Close()) }
