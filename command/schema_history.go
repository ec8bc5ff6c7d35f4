package command

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"marquee/command/exit"
	"marquee/command/terminal"
	"marquee/engine/folder"
	"marquee/engine/rest"
	"marquee/engine/store"
)

// historyCommand is marquee schema history.
type historyCommand struct {
	storeFlags
	JSON bool `name:"json" env:"-" help:"Print one line of JSON."`
}

func (c *historyCommand) Run(ctx context.Context) error {
	known, err := c.storedSets(ctx, "")
	if err != nil {
		return err
	}
	sets := known.Sets
	if c.JSON {
		sets.Sets, sets.Servers = append([]folder.Set{}, sets.Sets...), append([]folder.Server{}, sets.Servers...)
		return terminal.PrintJSON(sets)
	}
	table := terminal.NewTable("SET", "DIGEST", "SINCE", "KB", "SERVERS")
	for _, set := range sets.Sets {
		size := strconv.Itoa((set.Bytes + 1023) / 1024)
		if set.Unkept {
			size = "not kept"
		}
		table.Row(strconv.FormatInt(set.Number, 10), set.Digest, set.Time.Format(time.RFC3339), size, strings.Join(set.Servers, " "))
	}
	if err := table.End(); err != nil || len(sets.Servers) == 0 {
		return err
	}
	fmt.Println()
	table = terminal.NewTable("SERVER", "SET", "SINCE")
	for _, server := range sets.Servers {
		table.Row(server.Name, strconv.FormatInt(server.Set, 10), server.Since.Format(time.RFC3339))
	}
	err = table.End()
	if !sets.Differ.IsZero() {
		fmt.Printf("\nThe servers have served different sets since %s.\n", sets.Differ.Format(time.RFC3339))
	}
	return err
}

// exportSetCommand is marquee schema export.
type exportSetCommand struct {
	storeFlags
	Number int64  `arg:"" help:"The number of the set; schema history lists them."`
	Dir    string `arg:"" help:"Folder to write its files to, which must not exist or be empty."`
}

func (c *exportSetCommand) Run(ctx context.Context) error {
	if entries, err := os.ReadDir(c.Dir); err == nil && len(entries) > 0 || err != nil && !errors.Is(err, os.ErrNotExist) {
		return exit.Usagef("%s is not an empty folder", c.Dir)
	}
	known, err := c.storedSets(ctx, strconv.FormatInt(c.Number, 10))
	if err != nil {
		return err
	}
	if known.Files == nil {
		return fmt.Errorf("set %d has no files: its servers had no --schemas", c.Number)
	}
	files, err := folder.Unpack(known.Files)
	if err == nil {
		err = os.CopyFS(c.Dir, files)
	}
	return err
}

// storedSets are the sets of a store, and the files of one of them.
type storedSets struct {
	Sets  folder.Sets
	Files []byte
	// Unknown reports that the files are not kept.
	Unknown bool
}

// insteadOf says which set stands for the last one, which has no files.
func (s *storedSets) insteadOf() string {
	for _, set := range slices.Backward(s.Sets.Sets) {
		if set.Bytes > 0 {
			return fmt.Sprintf("set %d is compared", set.Number)
		}
	}
	if s.Files != nil {
		return "one that an earlier version kept is compared"
	}
	return "the types of the application are compared"
}

// readSets reads the sets that are known, and the files of one; "" stands for none of them
// and "0" for the last one that has any.
func readSets(ctx context.Context, s store.Store, number string) (known storedSets, err error) {
	if known.Sets, err = folder.Known(ctx, s); err != nil || number == "" {
		return known, err
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return known, fmt.Errorf("set %q: %w", number, folder.ErrNoSet)
	}
	known.Files, _, err = folder.Packed(ctx, s, n)
	return known, err
}

// storedSets reads the sets of the store as readSets does, from its server if there is one
// that must be asked. A store that is not being served is opened for it.
func (f *storeFlags) storedSets(ctx context.Context, number string) (known storedSets, err error) {
	f.opening = newOpening(storeName(f.Store), nil)
	o, err := f.reach(ctx, func() error {
		s, err := f.openStore(ctx, true)
		if err != nil {
			return err
		}
		known, err = readSets(ctx, s, number)
		if sqlitePath(f.Store) != "" { // which has no server, or this one could not open it
			known.Sets.Servers, known.Sets.Differ = nil, time.Time{}
		}
		return errors.Join(err, s.Close())
	})
	if err == nil && o != nil {
		err = errors.Join(o.call(ctx, http.MethodGet, "/operator/sets", url.Values{"number": {number}}, nil, &known), o.close())
	}
	if isMissing(err) {
		return known, errors.New("the running server is of an earlier version, which does not number its sets: restart it with this version")
	}
	if errors.Is(err, folder.ErrNoSet) || known.Unknown {
		return known, exit.Usagef("the store does not keep the files of set %s: %s schema history lists the sets", number, programName)
	}
	return known, err
}

// setsRoute is what storedSets asks a server.
func setsRoute() rest.Route {
	return rest.Route{Path: "/operator/sets", Methods: []string{http.MethodGet}, Operator: true, Serve: func(r *rest.Call) error {
		known, err := readSets(r.Context(), r.Engine().Store, r.Parameters()["number"])
		if known.Unknown = errors.Is(err, folder.ErrNoSet); err != nil && !known.Unknown {
			return err
		}
		return r.AnswerJSON(known)
	}}
}
