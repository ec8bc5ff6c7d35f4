package command

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"marquee/command/exit"
	"marquee/command/terminal"
	"marquee/engine/progress"
	"marquee/engine/schema"
	"marquee/engine/transfer"
)

// importCommand is marquee import.
type importCommand struct {
	storeFlags
	Create          bool     `help:"Create the store if there is none."`
	First           string   `arg:"" name:"type-or-file" help:"Resource type of all lines${imports}; or the file, where each line names its own."`
	Second          string   `arg:"" optional:"" name:"file" help:"File of JSON lines or CSV; - is standard input."`
	Format          string   `type:"choice" enum:",json,csv" default:"" help:"Format of the file: json for lines of JSON, or csv. By default, it is csv if the name ends in .csv." placeholder:"FORMAT"`
	Columns         []string `sep:"none" help:"Properties of CSV columns whose names are not those of properties, such as 'Full name=name,City=address.city'; NAME= leaves a column out." placeholder:"NAME=PATH,…"`
	Context         string   `help:"Id of the network that the objects belong to." placeholder:"NETWORK"`
	FieldValidation string   `type:"choice" enum:",Warn,Strict,Ignore" default:"" help:"What happens to unknown properties: Warn drops and names them, Strict refuses, Ignore drops. By default, the schema decides, which drops and names them or refuses." placeholder:"HOW"`
	Chunk           int      `default:"1000" help:"How many lines are one transaction, at most 10000." placeholder:"N"`
	Rejected        string   `help:"File for the lines that are rejected, with their messages." placeholder:"FILE"`
	Files           string   `help:"Folder with the files that an export has written." placeholder:"DIR"`
	Progress        string   `help:"File that keeps the progress; FILE.progress beside the imported one unless given." placeholder:"FILE"`
	Restart         bool     `help:"Start from the beginning and ignore the progress of an earlier import."`
	Strict          bool     `help:"Stop at the first error and write nothing of its chunk."`
	Quiet           bool     `help:"Print errors only."`

	// columns are the parsed Columns.
	columns map[string]string
	// streamed yields how the reading of a stream has ended, before the stream
	// does; nil for a file.
	streamed chan error
}

// maxChunk bounds a transaction.
const maxChunk = 10_000

// rejectedLines is the end of an import that left lines out.
type rejectedLines int64

func (n rejectedLines) Error() string {
	if n == 1 {
		return "1 line was rejected, all others are imported"
	}
	return fmt.Sprintf("%s lines were rejected, all others are imported", progress.Grouped(int64(n)))
}

func (c *importCommand) Run(ctx context.Context) error {
	if c.Chunk < 1 || c.Chunk > maxChunk {
		return exit.Usagef("--chunk %d must be from 1 to %d", c.Chunk, maxChunk)
	}
	path, name := c.First, ""
	if c.Second != "" {
		name, path = c.First, c.Second
	}
	if err := c.checkFormat(path, name); err != nil {
		return err
	}
	input, size, err := c.input(ctx, path)
	if err != nil {
		return err
	}
	defer input.Close()
	var files *os.Root
	if c.Files != "" {
		if files, err = os.OpenRoot(c.Files); err != nil {
			return fmt.Errorf("the folder of --files cannot be opened: %w", exit.Cause(err))
		}
		defer files.Close()
	}
	d, err := c.destination(ctx, files)
	if err != nil {
		return err
	}
	defer d.close()
	if _, served := d.Registry().Named(name); !served {
		if read := c.program.importer(name); read != nil {
			return c.importOther(ctx, d, name, input, read)
		}
	}
	t, err := c.check(ctx, d, name)
	if err != nil {
		return err
	}
	return c.run(ctx, d, t, files, input, size)
}

// importOther imports a file that does not have objects.
func (c *importCommand) importOther(ctx context.Context, d *destination, name string, input io.Reader, read Import) error {
	switch {
	case d.service == nil:
		return fmt.Errorf("%s cannot be imported while the service runs: stop it first", name)
	case c.Format == "csv":
		return exit.Usagef("%s are not imported from CSV", name)
	case c.Context != "":
		return fmt.Errorf("%s belong to no network: leave --context out", name)
	}
	n, err := read(ctx, d.service.Store(), input)
	if err == nil && !c.Quiet {
		fmt.Printf("%s %s were imported.\n", progress.Grouped(int64(n)), name)
	}
	return err
}

// checkFormat finds out whether the file is CSV, and reads what is said of its columns.
func (c *importCommand) checkFormat(path, name string) (err error) {
	if c.Format == "" {
		c.Format = "json"
		if strings.EqualFold(filepath.Ext(path), ".csv") {
			c.Format = "csv"
		}
	}
	csv := c.Format == "csv"
	switch {
	case csv && name == "":
		return exit.Usagef("name the type of the objects before a CSV file, as in: %s import TYPE %s", programName, shellWord(path))
	case !csv && len(c.Columns) > 0:
		return exit.Usagef("--columns is for CSV: add --format csv if the file is CSV")
	}
	c.columns, err = parseColumns(c.Columns)
	return err
}

// parseColumns reads the values of --columns: pairs of the name of a column and the path of
// a property, separated by commas. A name with a comma is quoted as in CSV.
func parseColumns(values []string) (map[string]string, error) {
	columns := map[string]string{}
	for _, value := range values {
		pairs, err := csv.NewReader(strings.NewReader(value)).Read()
		if err != nil {
			return nil, exit.Usagef("--columns %q is not a list of NAME=PATH", value)
		}
		for _, pair := range pairs {
			at := strings.LastIndexByte(pair, '=') // which no path has
			if at < 0 {
				return nil, exit.Usagef("--columns %q must be NAME=PATH, or NAME= to leave the column out", pair)
			}
			name, path := strings.TrimSpace(pair[:at]), strings.TrimSpace(pair[at+1:])
			if _, twice := columns[name]; twice {
				return nil, exit.Usagef("--columns names the column %q twice", name)
			}
			columns[name] = path
		}
	}
	return columns, nil
}

// input opens the file; size is -1 for a stream, which cannot be read again.
func (c *importCommand) input(ctx context.Context, path string) (*os.File, int64, error) {
	input := os.Stdin
	if path != "-" {
		var err error
		if input, err = os.Open(path); err != nil { // #nosec G304 -- the operator chooses the file
			return nil, 0, fmt.Errorf("the file to import cannot be read: %w", exit.Cause(err))
		}
	}
	info, err := input.Stat()
	switch {
	case err != nil:
		return nil, 0, fmt.Errorf("the file to import cannot be read: %w", exit.Cause(err))
	case info.IsDir():
		return nil, 0, fmt.Errorf("%s is a folder: name a file", path)
	}
	if report, err := os.Stat(c.Rejected); err == nil && os.SameFile(info, report) {
		return nil, 0, fmt.Errorf("%s cannot be both what is imported and the report of --rejected: name another file", path)
	}
	if path == "-" || !info.Mode().IsRegular() {
		if c.Progress != "" || c.Restart {
			return nil, 0, exit.Usagef("no progress is kept of standard input, as it cannot be read again: write it to a file first, or leave --progress and --restart out")
		}
		stream, err := c.interruptibly(ctx, input)
		return stream, -1, err
	}
	if c.Progress == "" {
		c.Progress = path + ".progress"
	}
	return input, info.Size(), nil
}

// interruptibly is a stream whose reads fail when the context ends, as those of
// standard input do not.
func (c *importCommand) interruptibly(ctx context.Context, input *os.File) (*os.File, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c.streamed = make(chan error, 1)
	go func() {
		_, err := io.Copy(write, input)
		c.streamed <- err
		write.Close()
	}()
	context.AfterFunc(ctx, func() { _ = read.SetReadDeadline(time.Now()) })
	return read, nil
}

// check finds the type, and refuses a network that is not there.
func (c *importCommand) check(ctx context.Context, d *destination, name string) (*schema.Type, error) {
	var t *schema.Type
	if name != "" {
		var err error
		if t, err = findType(d.Registry(), name); err != nil {
			return nil, err
		}
		if t.Global && c.Context != "" {
			return nil, fmt.Errorf("%s belong to no network: leave --context out", t.Served().Name)
		}
		if !t.Global && c.Context == "" {
			return nil, d.networks.lacks(ctx, t.Served().Name+" belong to a network: name it with --context NETWORK")
		}
	}
	// Envelopes may bring their networks with them.
	return t, d.networks.check(ctx, c.Context, t == nil)
}

func findType(registry *schema.Registry, name string) (*schema.Type, error) {
	t, ok := registry.Named(name)
	if ok {
		return t, nil
	}
	var names []string
	for _, t := range registry.Served().Types() {
		names = append(names, t.Name)
	}
	return nil, fmt.Errorf("there is no resource type %q; there are %s", name, strings.Join(names, ", "))
}

func (c *importCommand) run(ctx context.Context, d *destination, t *schema.Type, files *os.Root, input *os.File, size int64) error {
	show := terminal.NewProgress(c.Quiet, size)
	im, err := transfer.Import{Target: d, Input: input, CSV: c.Format == "csv", Columns: c.columns, Type: t, Context: c.Context, FieldValidation: fieldValidations[c.FieldValidation],
		Chunk: c.Chunk, Strict: c.Strict, Progress: c.Progress, Report: c.Rejected, Restart: c.Restart, Files: d.files, Folder: files, Store: storeName(c.Store),
		Each: show.Update}.Open()
	if err != nil {
		return err
	}
	defer im.Close()
	if line, resumed := im.Resumed(); resumed {
		show.Say("Continuing after line %s of %s, where the previous import stopped.", progress.Grouped(line), input.Name())
	}
	show.Begin(im.Status())
	err = im.Run(ctx)
	var bare *transfer.NotEnvelopeError
	if errors.As(err, &bare) {
		return c.hint(ctx, d, os.Args[1:], bare)
	}
	if err == nil && c.streamed != nil {
		err = <-c.streamed
	}
	show.End(im.Status())
	if err == nil && d.service != nil {
		c.follow(ctx, d.service, show)
	}
	for _, text := range im.Dropped() {
		show.Say("%s", text)
	}
	if err := exit.InterruptedBy(ctx, err); err != nil {
		return fmt.Errorf("the import stopped: %w; %s", err, c.cure())
	}
	rejected := im.Status().Rejected
	if rejected == 0 {
		return nil
	}
	c.report(im.First(), rejected)
	return exit.WithStatus(rejectedLines(rejected), exit.Rejected)
}

// follow has what depends on imported objects follow, as no server may be running
// that does. What is left is in the store's queue.
func (c *importCommand) follow(ctx context.Context, s *service, show *terminal.Progress) {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if err := s.Engine().FollowAll(ctx, log); err != nil {
		show.Say("Some objects that depend on imported ones have not been updated yet; the next server that uses the store updates them.")
	}
}

// cure says how to go on after a fault.
func (c *importCommand) cure() string {
	if c.Progress == "" {
		return "objects written so far are kept: import the whole file again (objects with ids do not change)"
	}
	return "objects written so far are kept: run the same command again to continue"
}

// report prints rejected lines, or the file that has them.
func (c *importCommand) report(first []string, rejected int64) {
	if c.Rejected != "" {
		with := ""
		if c.Format == "csv" {
			with = " with --format csv"
			if len(c.Columns) > 0 {
				with += " and the same --columns"
			}
		}
		fmt.Fprintf(os.Stderr, "The rejected lines are in %s, with the reasons: correct them there, and import that file%s.\n", c.Rejected, with)
		return
	}
	for _, text := range first {
		fmt.Fprintln(os.Stderr, terminal.Printable(text))
	}
	if more := rejected - int64(len(first)); more > 0 {
		fmt.Fprintf(os.Stderr, "… and %s more: --rejected FILE writes all of them.\n", progress.Grouped(more))
	}
}

// storeName says which store a URI names, without user and password.
func storeName(uri string) string {
	if path := sqlitePath(uri); path != "" {
		if whole, err := filepath.Abs(path); err == nil {
			path = whole
		}
		return "sqlite:" + path
	}
	rest, _, _ := strings.Cut(uri, "?")
	kind, place, _ := strings.Cut(rest, "://")
	return kind + "://" + place[strings.LastIndexByte(place, '@')+1:]
}
