package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// report is the result of a run.
type report struct {
	settings
	comparison
	mongod  string // its version
	commit  string
	load    string // of the machine at the beginning
	missing []absence
	peers   []*service
	figures []map[*service]figure // for each scenario
}

// absence is a peer that could not be measured.
type absence struct {
	name string
	err  error
}

const beginMark, endMark = "<!-- begin: make bench-peers -->\n", "<!-- end: make bench-peers -->\n"

// stores are the tables, and what they are called.
var stores = []struct{ key, title string }{{"sqlite", "SQLite"}, {"mongodb", "MongoDB"}}

func newReport(ctx context.Context, s settings, c comparison, root string) *report {
	r := &report{settings: s, comparison: c, load: "unknown"}
	describe := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty")
	describe.Dir = root
	if text, err := describe.Output(); err == nil {
		r.commit = strings.TrimSpace(string(text))
	}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		r.load, _, _ = strings.Cut(string(text), " ")
	}
	return r
}

// measure measures the services in all scenarios.
func (r *report) measure(ctx context.Context, all []*service) {
	r.peers = all
	baseline := func(s *service) *service {
		for _, one := range all {
			if one.Store == s.Store && strings.HasPrefix(one.Name, r.Baseline) {
				return one
			}
		}
		return nil
	}
	for _, sc := range r.Scenarios {
		if ctx.Err() != nil {
			return
		}
		progress("%s", sc.Title)
		figures := r.compare(ctx, sc, all, baseline)
		for _, s := range all {
			if err := figures[s].err; err != nil {
				progress("%s on %s: %v", s.Name, s.Store, err)
			}
		}
		r.figures = append(r.figures, figures)
	}
}

// write writes the tables, and to the page if there is one.
func (r *report) write(out io.Writer, page string) error {
	var b bytes.Buffer
	r.conditions(&b)
	for _, store := range stores {
		r.table(&b, store.key, store.title)
	}
	r.disk(&b)
	r.versions(&b)
	r.absent(&b)
	if _, err := out.Write(b.Bytes()); err != nil || page == "" {
		return err
	}
	content, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, begun := bytes.Cut(content, []byte(beginMark))
	_, after, ended := bytes.Cut(rest, []byte(endMark))
	if !begun || !ended {
		return fmt.Errorf("%s has no markers", page)
	}
	text := bytes.Join([][]byte{before, []byte(beginMark), b.Bytes(), []byte(endMark), after}, nil)
	return os.WriteFile(page, text, 0o600)
}

func (r *report) conditions(b *bytes.Buffer) {
	fmt.Fprintf(b, "Marquee at %s, with %s objects, %d rounds and %s for each peer in a round. %d processors, %s/%s, %s", r.commit,
		grouped(r.objects), r.rounds, r.slice, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	if r.mongod != "" {
		fmt.Fprintf(b, ", MongoDB %s", r.mongod)
	}
	fmt.Fprintf(b, ". Load of the machine before the run (average of a minute): %s.\n\n", r.load)
}

func (r *report) table(b *bytes.Buffer, store, title string) {
	fmt.Fprintf(b, "### On %s\n\n| |", title)
	for _, sc := range r.Scenarios {
		fmt.Fprintf(b, " %s |", sc.Title)
	}
	fmt.Fprintf(b, " Durability of a confirmed write |\n|---|%s---|\n", strings.Repeat("---|", len(r.Scenarios)))
	for _, s := range r.peers {
		if s.Store != store {
			continue
		}
		fmt.Fprintf(b, "| %s |", s.Name)
		for _, figures := range r.figures {
			fmt.Fprintf(b, " %s |", figures[s])
		}
		fmt.Fprintf(b, " %s |\n", s.Durability)
	}
	b.WriteString("\n")
}

// disk writes the size of an object in the files of SQLite, and its ratio to Marquee's.
func (r *report) disk(b *bytes.Buffer) {
	b.WriteString("### Size on the disk\n\n| On SQLite | Bytes for each object |\n|---|---|\n")
	baseline := int64(0)
	for _, s := range r.peers {
		if s.disk == 0 {
			continue
		}
		if strings.HasPrefix(s.Name, r.Baseline) {
			baseline = s.disk
		}
		fmt.Fprintf(b, "| %s | %s", s.Name, grouped(int(s.disk)/r.objects))
		if baseline > 0 {
			fmt.Fprintf(b, " (%.2f)", float64(s.disk)/float64(baseline))
		}
		b.WriteString(" |\n")
	}
	b.WriteString("\n")
}

func (f figure) String() string {
	switch {
	case errors.Is(f.err, context.Canceled):
		return "interrupted"
	case f.err != nil:
		return "failed"
	case f.ratio == 0:
		return digits(f.rate)
	default:
		return fmt.Sprintf("%s (%.2f)", digits(f.rate), f.ratio)
	}
}

// digits formats a rate; small ones with a fraction.
func digits(rate float64) string {
	if rate < 100 {
		return fmt.Sprintf("%.1f", rate)
	}
	return grouped(int(rate + 0.5))
}

// grouped formats a number with commas.
func grouped(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func (r *report) versions(b *bytes.Buffer) {
	b.WriteString("### Versions\n\n| | Version | How a request's token is checked | What is stored if a part of a batch fails | Remarks |\n|---|---|---|---|---|\n")
	for _, s := range r.peers {
		name := s.Name
		for _, store := range stores {
			if store.key == s.Store {
				name += " on " + store.title
			}
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", name, s.Version, s.Access, s.Atomic, s.Notes)
	}
	b.WriteString("\n")
}

// absent lists what was not measured. The log of the run has the whole reasons.
func (r *report) absent(b *bytes.Buffer) {
	for _, m := range r.missing {
		reason, _, _ := strings.Cut(m.err.Error(), "\n")
		fmt.Fprintf(b, "%s was not measured: %s.\n\n", m.name, reason)
	}
	for i, figures := range r.figures {
		for _, s := range r.peers {
			if figures[s].err != nil {
				fmt.Fprintf(b, "%s failed in \"%s\".\n\n", s.Name, r.Scenarios[i].Title)
			}
		}
	}
}
