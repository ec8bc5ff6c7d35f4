package schema

import "marquee/engine/message"

// Options describe the application whose schemas are loaded.
type Options struct {
	// Messages is the catalogue to which schemas add messages; nil is that of the
	// engine.
	Messages *message.Catalogue
	// Paths are the paths below /api/v1 that types cannot have.
	Paths []string
	// DefaultPermission is required to write types that name no permission; "" is the
	// constant DefaultPermission.
	DefaultPermission string
	// Permissions are added to those that the schema of roles lists, as is
	// DefaultPermission. They are the built-in permissions.
	Permissions []string
}

// Load is LoadWith without options.
func Load(sources ...Source) (*Registry, error) { return LoadWith(Options{}, sources...) }

// LoadWith reads, checks and compiles the files of all sources. The error is of
// type Problems, with the results of all checks. A later source can add files but
// not replace any.
func LoadWith(options Options, sources ...Source) (*Registry, error) {
	if options.Messages == nil {
		options.Messages = message.BuiltIn()
	}
	l := &loader{options: options, files: map[string]*file{}}
	for i, source := range sources {
		l.read(i, source)
	}
	l.addPermissions()
	l.checkVocabulary()
	l.checkPlaces()
	l.checkTested()
	l.checkContradictions()
	l.leaveOutFaults()
	types, declared := l.compile()
	l.lint(types)
	if len(l.problems) > 0 {
		return nil, l.sorted(l.problems)
	}
	r, err := newRegistry(types, l.published(), l.options.Messages, declared, l.digest())
	if err == nil {
		r.hints = l.sorted(l.hints)
	}
	return r, err
}
