// Command peers compares Marquee with services that do similar things, on the machine
// that it runs on: `make bench-peers`. It installs each with its own package manager into
// .cache/peers, gives all of them the same objects, and sends them the same requests,
// a short time to each in turn. It imports integration/mongodb alone, as the peers are
// programs. Begin with compare.
//
//	go run ./integration/bench/peers -objects 100000
//
// A peer is a file peer-*.json with the fields of the type peer; adding one needs no Go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// runLimit bounds the whole run.
const runLimit = 4 * time.Hour

type settings struct {
	objects int
	measurement
	only *regexp.Regexp // of the names of definitions
	page string         // that gets the result
}

func main() {
	var s settings
	flag.IntVar(&s.objects, "objects", 100_000, "`number` of objects, a multiple of 1,000")
	flag.IntVar(&s.rounds, "rounds", 7, "`number` of rounds")
	flag.DurationVar(&s.slice, "slice", 2*time.Second, "`duration` of a measurement of a peer in a round")
	flag.StringVar(&s.page, "page", "", "`file` that gets the tables, between its markers")
	only := flag.String("only", "", "peers whose names match this `expression`, besides Marquee")
	bare := flag.String("bare", "", "serve the bare handler on sqlite or mongodb instead")
	address, at := flag.String("address", "", "address of the bare handler"), flag.String("at", "", "file or URI of the bare handler")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	var err error
	if *bare != "" {
		err = serveBare(ctx, *bare, *address, *at)
	} else if s.only, err = regexp.Compile("(?i)" + *only); err == nil {
		err = compare(ctx, s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// compare measures all peers and reports the result.
func compare(ctx context.Context, s settings) (err error) {
	c, err := loadComparison()
	if err != nil {
		return err
	}
	if s.objects < c.FolderSize || s.objects%c.FolderSize != 0 || s.rounds < 1 {
		return fmt.Errorf("-objects must be a multiple of %d, and -rounds at least 1", c.FolderSize)
	}
	peers, err := loadPeers()
	if err != nil {
		return err
	}
	w := &workshop{data: dataset{objects: s.objects, folders: s.objects / c.FolderSize}, installed: map[string]bool{}}
	if w.root, err = moduleRoot(); err != nil {
		return err
	}
	if w.folder, err = os.MkdirTemp("", "marquee-peers-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(w.folder)) }()
	r := newReport(ctx, s, c, w.root)
	if w.mongodb, err = startDatabase(ctx, w.folder); err != nil {
		r.missing = append(r.missing, absence{"Everything on MongoDB", err})
	} else {
		r.mongod = w.mongodb.version
		defer func() { err = errors.Join(err, w.mongodb.stop()) }()
	}
	var all []*service
	defer func() {
		for _, one := range all {
			one.process.stop()
		}
	}()
	for _, p := range peers {
		ours := strings.HasPrefix(p.Name, c.Baseline)
		if ctx.Err() != nil || !ours && !s.only.MatchString(p.Name) || p.Store == "mongodb" && w.mongodb == nil {
			continue
		}
		progress("%s on %s: install, start and load", p.Name, p.Store)
		one, err := w.open(ctx, p)
		if err != nil {
			progress("%s is left out: %v", p.Name, err)
			r.missing = append(r.missing, absence{p.Name, err})
			continue
		}
		all = append(all, one)
	}
	r.measure(ctx, all)
	if err := ctx.Err(); err != nil {
		return errors.Join(err, r.write(os.Stdout, "")) // what there is
	}
	return r.write(os.Stdout, s.page)
}

func progress(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format(time.TimeOnly)+" "+format+"\n", arguments...)
}
