package command

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"marquee/engine/folder"
	"marquee/engine/migration"
	"marquee/engine/progress"
	"marquee/engine/schema"
	"marquee/engine/schema/diff"
	"marquee/engine/store"
)

// refusedClasses are the classes of differences that each value of --schema-changes
// refuses.
var refusedClasses = map[string][]diff.Class{"any": nil, "stored": {diff.Stored}, "clients": {diff.Stored, diff.Request, diff.Response}}

// refusedChanges are the differences because of which --schema-changes refuses a set.
type refusedChanges []diff.Difference

// maxRefused is the maximum number of differences that an error lists.
const maxRefused = 100

// Error implements error, with the text of marquee schema diff.
func (r refusedChanges) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "--schema-changes refuses %s:", progress.Counted(int64(len(r)), "difference"))
	for _, d := range r[:min(len(r), maxRefused)] {
		text.WriteString("\n" + d.String())
	}
	return text.String()
}

// setChanges are the differences that clients have when a set replaces the one with a number,
// 0 for none.
type setChanges struct {
	from     int64
	breaking int
	// before is the set before it, if stored objects may be invalid by the new one, or have
	// values that it hides; otherwise nil.
	before *schema.Registry
}

// breaks returns the differences of some types that stored objects or clients may notice, and
// no file accepts.
func breaks(before, after *schema.Registry, of func(*schema.Type) bool) []diff.Difference {
	return slices.DeleteFunc(diff.Of(before, after, of), func(d diff.Difference) bool {
		return d.Accepted != "" || !slices.ContainsFunc(refusedClasses["clients"], d.Is)
	})
}

// compareSets compares a set with the one before it, as far as that has objects, and notes the
// number of differences for the log. The error is of type refusedChanges if --schema-changes
// refuses some. Without a value that refuses any, other errors are only logged.
func (s *service) compareSets(ctx context.Context, f *storeFlags, from store.Store, before, after *schema.Registry) error {
	s.changes.breaking, s.changes.before = 0, nil
	if f.changes == "" || before.Digest() == after.Digest() || len(breaks(before, after, func(*schema.Type) bool { return true })) == 0 {
		return nil
	}
	used, err := migration.Stored(ctx, from, func(name string) bool {
		_, known := before.Type(name)
		return known
	})
	if err != nil {
		return f.uncompared(err)
	}
	found := breaks(before, after, func(t *schema.Type) bool { return slices.Contains(used, t.Name) })
	if s.changes.breaking = len(found); slices.ContainsFunc(found, func(d diff.Difference) bool { return d.Is(diff.Stored) }) {
		s.changes.before = before
	}
	refused := refusedChanges(slices.DeleteFunc(found, func(d diff.Difference) bool { return !slices.ContainsFunc(refusedClasses[f.changes], d.Is) }))
	if len(refused) > 0 {
		return refused
	}
	return nil
}

// uncompared returns the error of a comparison, unless --schema-changes refuses nothing: then
// it is only logged.
func (f *storeFlags) uncompared(err error) error {
	if refusedClasses[f.changes] != nil {
		return err
	}
	f.logger().Warn("the schemas cannot be compared with those before them", slog.String("cause", err.Error()))
	return nil
}

// compareWithKept is compareSets at a start, with the set that was accepted last. One that
// this version of the program refuses, or whose files were not kept, is not compared.
func (s *service) compareWithKept(ctx context.Context, f *storeFlags, to store.Store, types *schema.Registry) error {
	known, err := readSets(ctx, to, "0")
	if err != nil {
		return f.uncompared(err)
	}
	var last folder.Set
	if n := len(known.Sets.Sets); n > 0 {
		last = known.Sets.Sets[n-1]
	}
	if last.Digest == types.Digest() || known.Files == nil && !last.Unkept {
		return nil
	}
	set := servedSet{Files: known.Files}
	before, err := set.types(&s.application, "the set that was accepted last")
	if last.Unkept { // the files are those of an earlier set
		err = folder.ErrNoSet
	}
	if err != nil {
		f.logger().Warn("the schemas cannot be compared with those that were accepted last", slog.String("cause", err.Error()))
		return nil
	}
	if last.Bytes > 0 {
		s.changes.from = last.Number
	}
	return s.compareSets(ctx, f, to, before, types)
}

// warn logs the number of differences that are served as the set with a number
// although they break something.
func (c setChanges) warn(log *slog.Logger, to int64) {
	sides := ""
	if c.from > 0 && to > 0 {
		sides = fmt.Sprintf(" store:%d store:%d", c.from, to)
	}
	if c.breaking > 0 {
		log.Warn("the schemas change what stored objects or clients may rely on; "+programName+" schema diff"+sides+" lists it", slog.Int("differences", c.breaking))
	}
}
