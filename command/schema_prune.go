package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"time"

	"marquee"
	"marquee/command/exit"
	"marquee/command/terminal"
	"marquee/engine"
	"marquee/engine/folder"
	"marquee/engine/migration"
	"marquee/engine/progress"
	"marquee/engine/rest"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// pruneCommand is marquee schema prune.
type pruneCommand struct {
	storeFlags
	Type     string `arg:"" help:"The name of the type."`
	Property string `arg:"" help:"The property, by the name that its values are stored under, or a JSON Pointer with * for the indexes of arrays."`
	DryRun   bool   `env:"-" help:"Only print how many objects have values."`
}

func (c *pruneCommand) Run(ctx context.Context) error {
	c.accepted = true
	request := undeclaredRequest{typeName: c.Type, property: cmp.Or(c.Property, "/"), prune: !c.DryRun}
	var places map[string]int64
	served, err := c.reach(ctx, func() error {
		s, err := c.use(ctx, true, marquee.Options{})
		if err != nil {
			return c.missing(err, "--store")
		}
		places, err = request.run(ctx, s.Engine(), sayUndeclared)
		return errors.Join(err, s.close())
	})
	if served != nil && err == nil {
		places, err = request.ask(ctx, served)
	}
	if err != nil {
		return exit.InterruptedBy(ctx, err)
	}
	for place, objects := range places {
		at, number := terminal.Printable(place), progress.Counted(objects, "object")
		if c.DryRun {
			_, err = fmt.Printf("%s of %s: %s\n", at, c.Type, number)
		} else {
			_, err = fmt.Printf("Removed %s of %s from %s and from the history.\n", at, c.Type, number)
		}
	}
	return err
}

// checkAccepted refuses types other than those that the servers of a store have accepted last,
// which may declare what these do not.
func (f *storeFlags) checkAccepted(ctx context.Context, s store.Store, types *schema.Registry) error {
	sets, err := folder.Known(ctx, s)
	n := len(sets.Sets)
	switch {
	case err != nil || n == 0:
		return err
	case sets.Sets[n-1].Digest != types.Digest():
		return exit.Usagef("the schemas are not those of set %d, which the store was served with last: name their folder with --schemas", sets.Sets[n-1].Number)
	case !sets.Differ.IsZero() && sqlitePath(f.Store) == "": // whose server would have been asked
		return fmt.Errorf("the servers of the store have served different sets of schemas since %s: %s schema history lists them", sets.Differ.Format(time.RFC3339), programName)
	}
	return nil
}

// showUndeclared prints the places of the values that a type does not declare, if there is a
// store.
func (c *showCommand) showUndeclared(ctx context.Context, t *schema.Type) error {
	var places map[string]int64
	served, err := c.reach(ctx, func() error {
		c.opening = newOpening(storeName(c.Store), nil)
		s, err := c.openStore(ctx, true)
		if code, _ := store.CodeOf(err); code == store.CodeNoStore {
			return nil
		}
		if err != nil {
			return err
		}
		places, err = migration.Undeclared(ctx, s, t, "")
		return errors.Join(err, s.Close())
	})
	if served != nil && err == nil {
		places, err = undeclaredRequest{typeName: t.Name}.ask(ctx, served)
	}
	if err != nil || len(places) == 0 {
		return exit.InterruptedBy(ctx, err)
	}
	fmt.Println()
	table := terminal.NewTable("NOT DECLARED", "OBJECTS")
	for _, place := range slices.Sorted(maps.Keys(places)) {
		table.Row(cmp.Or(place, "(other places)"), progress.Grouped(places[place]))
	}
	return table.End()
}

// undeclaredRequest asks for the values that a type does not declare, or for those of one
// property, and may ask to remove these.
type undeclaredRequest struct {
	typeName, property string
	prune              bool
}

// run returns the places with the number of objects that have, or had, values there. Say is
// called with the progress.
func (q undeclaredRequest) run(ctx context.Context, e *engine.Engine, say func(string)) (map[string]int64, error) {
	t, served := e.Registry().Named(q.typeName)
	if !served {
		return nil, exit.Usagef("there is no type %s", q.typeName)
	}
	place := ""
	if q.property != "" || q.prune {
		var err error
		if place, err = migration.PrunedPlace(t, q.property); err != nil {
			return nil, exit.Usagef("%w", err)
		}
	}
	steps := &progress.Steps{}
	steps.Step("counting values of " + t.Served().Name)
	defer progress.While(progressEvery, progressEvery, func(time.Duration) { say(steps.String()) })()
	ctx = store.WithProgress(store.LongRunning(ctx), steps)
	places, err := migration.Undeclared(ctx, e.Store, t, place)
	if place != "" {
		places = map[string]int64{place: places[place]}
	}
	if err != nil || !q.prune {
		return places, err
	}
	if err := e.Prune(ctx, t.Name, place); err != nil {
		return nil, err
	}
	steps.Step("counting values of " + t.Served().Name + " again")
	left, err := migration.Undeclared(ctx, e.Store, t, place)
	if err == nil && left[place] > 0 {
		err = fmt.Errorf("%w, and %s have values at %s still", errDeclaredAgain, progress.Counted(left[place], "object"), place)
	}
	return places, err
}

// ask is run by a server.
func (q undeclaredRequest) ask(ctx context.Context, o *operator) (places map[string]int64, err error) {
	parameters := url.Values{"type": {q.typeName}, "property": {q.property}}
	if q.prune {
		parameters.Set("prune", "true")
	}
	err = o.follow(ctx, undeclaredPath+"?"+parameters.Encode(), nil, func(line checkLine) error {
		if line.Checking != "" {
			sayUndeclared(line.Checking)
		}
		places = line.Places
		return nil
	})
	return places, errors.Join(err, o.close())
}

// errDeclaredAgain is the error of a removal that did not come to its end.
var errDeclaredAgain = errors.New("a set that declares the property was served meanwhile")

func sayUndeclared(step string) { fmt.Fprintln(os.Stderr, step) }

const undeclaredPath = "/operator/undeclared"

// undeclaredRoute answers undeclaredRequest.
func undeclaredRoute(s *service) rest.Route {
	return rest.Route{Path: undeclaredPath, Methods: []string{http.MethodPost}, Operator: true, Deadline: checkTime, Serve: func(r *rest.Call) error {
		sent := r.Parameters()
		q := undeclaredRequest{typeName: sent["type"], property: sent["property"], prune: sent["prune"] == "true"}
		return s.stream(r, func(ctx context.Context, write func(checkLine) error) error {
			places, err := q.run(ctx, r.Engine(), func(step string) { _ = write(checkLine{Checking: step}) }) // the client may be gone
			if err != nil {
				return err
			}
			if q.prune {
				r.Log().Info("the operator has removed values that no schema declares", slog.String("type", q.typeName), slog.Any("objects", places))
			}
			return write(checkLine{Places: places})
		})
	}}
}
