package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// event is a line that go test -json prints (go doc test2json).
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // in seconds
}

// key identifies a test; Test is "" for the package itself.
type key struct{ Package, Test string }

// results collects what tests have printed until it is known whether it is to
// be shown.
type results struct {
	w       io.Writer
	outputs map[key][]string
	// order holds the tests of a package that have printed something.
	order map[string][]key
	// skipped holds the names of tests by the reason why they were skipped.
	skipped map[string][]string
	slow    []slowTest
}

// A slowTest has taken slow seconds or longer; at most maxSlow of them are listed.
type slowTest struct {
	name    string
	elapsed float64
}

const (
	slow    = 30
	maxSlow = 20
)

// report copies to w what go test prints without -v, from a stream of events, and at
// its end the reasons of skipped tests and the slowest tests.
func report(events io.Reader, w io.Writer) error {
	r := &results{w: w, outputs: map[key][]string{}, order: map[string][]key{}, skipped: map[string][]string{}}
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			if err := r.line(line); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return errors.Join(r.printSkipped(), r.printSlow())
		}
		if err != nil {
			return err
		}
	}
}

func (r *results) line(line []byte) error {
	var e event
	if err := json.Unmarshal(line, &e); err != nil {
		_, err := r.w.Write(line)
		return err
	}
	k := key{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		_, err := io.WriteString(r.w, e.Output)
		return err
	case "output":
		if progress.MatchString(e.Output) {
			return nil
		}
		if _, known := r.outputs[k]; !known {
			r.order[e.Package] = append(r.order[e.Package], k)
		}
		r.outputs[k] = append(r.outputs[k], e.Output)
	case "pass", "skip", "fail":
		if e.Test == "" {
			return r.end(e.Package, e.Action == "fail")
		}
		if e.Elapsed >= slow && !strings.Contains(e.Test, "/") {
			r.slow = append(r.slow, slowTest{e.Test, e.Elapsed})
		}
		if e.Action == "skip" {
			reason := skipReason(r.outputs[k])
			r.skipped[reason] = append(r.skipped[reason], e.Test)
		}
		if e.Action != "fail" {
			r.outputs[k] = nil
		}
	}
	return nil
}

// end prints the output of a package whose tests have ended: all that was kept
// when it failed, and its last line otherwise.
func (r *results) end(name string, failed bool) error {
	var shown []string
	for _, k := range r.order[name] {
		switch lines := r.outputs[k]; {
		case failed:
			shown = append(shown, lines...)
		case k.Test == "" && len(lines) > 0:
			shown = append(shown, lines[len(lines)-1])
		}
		delete(r.outputs, k)
	}
	delete(r.order, name)
	_, err := io.WriteString(r.w, strings.Join(shown, ""))
	return err
}

// progress are the lines that go test prints with -v alone.
var progress = regexp.MustCompile(`^=== `)

// verdict is the line that the testing package prints behind those of a test.
var verdict = regexp.MustCompile(`^\s*--- `)

// place is what the testing package puts before a message.
var place = regexp.MustCompile(`^\s*\S+\.go:\d+: `)

// skipReason is the last message of a test, which ended it.
func skipReason(output []string) string {
	var reason []string
	for _, line := range output {
		if verdict.MatchString(line) {
			continue
		}
		if place.MatchString(line) {
			reason = nil
		}
		reason = append(reason, strings.TrimSpace(place.ReplaceAllString(line, "")))
	}
	if len(reason) == 0 {
		return "no reason given"
	}
	return strings.Join(reason, " ")
}

func (r *results) printSkipped() error {
	for _, reason := range slices.Sorted(maps.Keys(r.skipped)) {
		tests := r.skipped[reason]
		what := tests[0]
		if len(tests) > 1 {
			what = fmt.Sprintf("%d tests", len(tests))
		}
		if _, err := fmt.Fprintf(r.w, "SKIPPED %s: %s\n", what, reason); err != nil {
			return err
		}
	}
	return nil
}

func (r *results) printSlow() error {
	slices.SortFunc(r.slow, func(a, b slowTest) int { return cmp.Compare(b.elapsed, a.elapsed) })
	for _, t := range r.slow[:min(len(r.slow), maxSlow)] {
		if _, err := fmt.Fprintf(r.w, "SLOW %s: %.0f s\n", t.name, t.elapsed); err != nil {
			return err
		}
	}
	return nil
}
