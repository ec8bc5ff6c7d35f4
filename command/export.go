package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"marquee/command/exit"
	"marquee/engine/event"
	"marquee/engine/progress"
	"marquee/engine/schema"
	"marquee/engine/transfer"
)

// exportCommand is marquee export.
type exportCommand struct {
	storeFlags
	unservedFlags
	Types       []string `arg:"" optional:"" name:"type" help:"Resource types; all when none is named."`
	Context     string   `help:"Id of the network whose objects are exported." placeholder:"NETWORK"`
	AllNetworks bool     `help:"Export all networks, with the networks and users themselves."`
	Output      string   `help:"File to write, which is replaced; standard output unless given." placeholder:"FILE"`
	Files       string   `help:"Folder that the files of objects, such as assets, are written to; they are left out unless it is given." placeholder:"DIR"`
	Envelopes   bool     `help:"Write envelopes, which name the type, even if only one type is exported."`
	AllFields   bool     `help:"Add the times and users of each object, which import ignores."`
	Secrets     bool     `help:"Include secrets, in plain text. By default, they are omitted."`
	Quiet       bool     `help:"Print errors only."`
}

func (c *exportCommand) Run(ctx context.Context) error {
	if c.Context != "" && c.AllNetworks {
		return exit.Usagef("--context and --all-networks cannot be used together: leave one out")
	}
	if info, err := os.Stat(c.Output); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file: choose another, or omit --output to write to standard output", c.Output)
	}
	s, err := c.openExisting(ctx, "or create one with "+programName+" init or "+programName+" serve")
	if err != nil {
		return err
	}
	defer s.close()
	types, err := c.types(ctx, s)
	if err != nil {
		return err
	}
	owned := slices.ContainsFunc(types, func(t *schema.Type) bool { return !t.Global })
	folder, err := c.files()
	if err != nil {
		return err
	}
	if folder != nil {
		defer folder.Close()
	}
	x := transfer.Export{Files: s.application.Files, Folder: folder, Companions: c.companions(types),
		Engine: s.Engine(), Types: transfer.Order(s.Engine().Registry(), types), Context: c.Context,
		Envelopes: c.Envelopes || len(types) > 1 || owned && c.AllNetworks, AllFields: c.AllFields, Secrets: c.Secrets}
	exported, err := c.write(ctx, x)
	if ctx.Err() != nil {
		return errors.New("the export was interrupted")
	}
	if err != nil {
		return fmt.Errorf("the export failed: %w", err)
	}
	if c.Secrets {
		newLogger("text", slog.LevelInfo).Warn("secrets were exported", event.SecretsExported.Attr(), slog.String("store", storeName(c.Store)), slog.Int64("objects", exported.Objects))
	}
	if !c.Quiet {
		c.report(exported)
	}
	return nil
}

// report prints what was exported, and what was not.
func (c *exportCommand) report(exported transfer.Exported) {
	files := ""
	if c.Files != "" {
		files = " and " + progress.Counted(exported.Files, "file")
	}
	fmt.Fprintf(os.Stderr, "%s%s exported\n", progress.Counted(exported.Objects, "object"), files)
	if exported.Undeclared > 0 {
		fmt.Fprintf(os.Stderr, "Values of %s were left out, because the schemas do not declare them. %s schema show TYPE lists them.\n", progress.Counted(exported.Undeclared, "object"), programName)
	}
	if exported.WithoutFiles == 0 {
		return
	}
	fmt.Fprintf(os.Stderr, "The files of %s were left out. Without them, an import into another store rejects the assets", progress.Counted(exported.WithoutFiles, "asset"))
	if len(exported.Lacking) > 0 {
		var needing []string
		for _, name := range slices.Sorted(maps.Keys(exported.Lacking)) {
			needing = append(needing, fmt.Sprintf("%s %s", progress.Grouped(exported.Lacking[name]), name))
		}
		fmt.Fprintf(os.Stderr, " and what refers to them: %s", listed(needing))
	}
	fmt.Fprintln(os.Stderr, ". --files DIR exports the files.")
}

// companions are the types of which the objects come along that a network needs,
// where all of it is exported.
func (c *exportCommand) companions(types []*schema.Type) []*schema.Type {
	if len(c.Types) > 0 || c.Context == "" {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(types), func(t *schema.Type) bool { return !t.Global })
}

// files opens the folder of the files, which is made if it is not there; nil
// when they are left out.
func (c *exportCommand) files() (*os.Root, error) {
	if c.Files == "" {
		return nil, nil
	}
	if err := os.MkdirAll(c.Files, 0o700); err != nil {
		return nil, fmt.Errorf("the folder of --files cannot be made: %w", exit.Cause(err))
	}
	folder, err := os.OpenRoot(c.Files)
	if err != nil {
		return nil, fmt.Errorf("the folder of --files cannot be opened: %w", exit.Cause(err))
	}
	return folder, nil
}

// types are those to export.
func (c *exportCommand) types(ctx context.Context, s *service) ([]*schema.Type, error) {
	var types []*schema.Type
	registry := s.Engine().Registry()
	for _, name := range c.Types {
		t, err := findType(registry, name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	if len(types) == 0 {
		if err := c.unservedFlags.check(ctx, s); err != nil {
			return nil, err
		}
		types = append(types, registry.Types()...)
	}
	i := slices.IndexFunc(types, func(t *schema.Type) bool { return !t.Global })
	switch {
	case i >= 0 && c.Context == "" && !c.AllNetworks:
		return nil, networkLister(s.networks).lacks(ctx, types[i].Served().Name+" belong to networks: name one with --context NETWORK, or use --all-networks")
	case i < 0 && c.Context != "":
		return nil, fmt.Errorf("%s belong to no network: leave --context out", types[0].Served().Name)
	}
	return types, networkLister(s.networks).check(ctx, c.Context, false)
}

// write writes the export where it is wanted, once it is whole: what exists is
// replaced by a whole file or not at all.
func (c *exportCommand) write(ctx context.Context, x transfer.Export) (exported transfer.Exported, err error) {
	file, err := os.CreateTemp(c.folder(), ".marquee-export-*")
	if err != nil {
		return exported, fmt.Errorf("a file cannot be made: %w", exit.Cause(err))
	}
	defer func() {
		file.Close()
		if err := os.Remove(file.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintln(os.Stderr, programName+": a part of the export was left behind:", err)
		}
	}()
	if c.Output == "" {
		_ = os.Remove(file.Name()) // some systems cannot as long as it is open
	}
	if exported, err = x.Write(ctx, file); err != nil {
		return exported, err
	}
	if c.Output != "" {
		if err := errors.Join(file.Sync(), file.Close()); err != nil {
			return exported, err
		}
		return exported, os.Rename(file.Name(), c.Output)
	}
	if _, err = file.Seek(0, io.SeekStart); err == nil {
		_, err = io.Copy(os.Stdout, file)
	}
	return exported, err
}

// folder is where the export grows: beside the file that it replaces.
func (c *exportCommand) folder() string {
	if c.Output == "" {
		return ""
	}
	return filepath.Dir(c.Output)
}
