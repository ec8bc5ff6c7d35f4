package command

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"marquee/engine/folder"
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

// compareSets compares a set with the one before it, as far as that has objects. The error is
// of type refusedChanges if --schema-changes refuses a difference that no file accepts;
// otherwise it returns the number of differences that clients would have.
func (f *storeFlags) compareSets(ctx context.Context, s store.Store, before, after *schema.Registry) (breaking int, err error) {
	if f.changes == "" || before.Digest() == after.Digest() {
		return 0, nil
	}
	used := map[string]bool{}
	err = s.Read(ctx, func(r store.Snapshot) error {
		clear(used)
		for _, t := range before.Types() {
			err := r.Scan(ctx, t.Name, store.Key{}, 1, func(*store.Record) error {
				used[t.Name] = true
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	before = before.Without(func(t *schema.Type) bool { return !used[t.Name] }, func(*schema.Type, string) bool { return false })
	var refused refusedChanges
	for _, d := range diff.Sets(before, after) {
		is := func(class string) bool { return slices.ContainsFunc(refusedClasses[class], d.Is) }
		if d.Accepted != "" || !is("clients") {
			continue
		}
		if breaking++; is(f.changes) {
			refused = append(refused, d)
		}
	}
	if refused != nil {
		return 0, refused
	}
	return breaking, nil
}

// compareWithKept is compareSets at a start, with the set that was accepted last. One that
// this version of the program refuses is not compared.
func (s *service) compareWithKept(ctx context.Context, f *storeFlags, to store.Store, types *schema.Registry) error {
	if f.changes == "" {
		return nil
	}
	files, _, err := folder.Packed(ctx, to, 0)
	if err != nil || files == nil {
		return err
	}
	set := servedSet{Files: files}
	before, err := set.types(&s.application, "the set that was accepted last")
	if err != nil {
		f.logger().Warn("the schemas cannot be compared with those that were accepted last", slog.String("cause", err.Error()))
		return nil
	}
	breaking, err := f.compareSets(ctx, to, before, types)
	warnOfChanges(f.logger(), breaking)
	return err
}

// warnOfChanges logs the number of differences that are served although they break something.
func warnOfChanges(log *slog.Logger, breaking int) {
	if breaking > 0 {
		log.Warn("the schemas change what stored objects or clients may rely on; "+programName+" schema diff lists it", slog.Int("differences", breaking))
	}
}
