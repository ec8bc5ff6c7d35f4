package mongo

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/engine/store"
	"marquee/integration/mongodb"
)

// TestFaultPointsOfCommits makes a commit fail with every code, before it takes
// effect.
func TestFaultPointsOfCommits(t *testing.T) {
	t.Parallel()
	f := newFaulty(t, mongodb.Lend(t))
	for code, class := range codeClasses {
		if testing.Short() && !slices.Contains(representatives, code) {
			continue
		}
		if class == tooLate { // the server's limit for one command, and not for the request
			class = loses
		}
		f.commitFails(failPoint{commitStep, faultCode(code), 1}, class)
		if slices.Contains(representatives, code) {
			f.commitFails(failPoint{commitStep, faultCode(code), 2}, class)
			f.statementFails(failPoint{commitStep, faultCode(code), 0}, class, 5*short)
		}
	}
}

// commitFails checks the result of a write whose commit fails for a while.
func (f *faulty) commitFails(p failPoint, c class) {
	f.Helper()
	f.failing(p, func() {
		f.Helper()
		runs, err := f.write(f.Context())
		code, _ := store.CodeOf(err)
		switch passes := c.runs > p.times; {
		case passes && (err != nil || runs > p.times+1), !passes && (code != c.code || runs != c.runs):
			f.Errorf("%v: after %d runs: code %d, wanted %v: %v", p, runs, code, c, err)
		}
		f.settled(p.String(), err == nil)
	})
	f.nothingOpen(p.String(), time.Second)
}

// TestCommitsWithoutMajority checks that the store detects a commit that is
// durable although the server could not guarantee it.
func TestCommitsWithoutMajority(t *testing.T) {
	t.Parallel()
	f := newFaulty(t, mongodb.Lend(t))
	codes := slices.Clone(concernCodes)
	if !testing.Short() {
		codes = append(codes, 6, 7, 50, 189, 9001, 10107, 11600, 11602, 13435, 13436, 2, 13, 112, 251)
	}
	for _, code := range codes {
		for _, times := range []int{1, 0} {
			p := failPoint{commitStep, concernCode(code), times}
			f.failing(p, func() {
				if runs, err := f.write(t.Context()); err != nil || runs != 1 {
					t.Errorf("%v: after %d runs: %v", p, runs, err)
				}
			})
			f.settled(p.String(), true)
			f.nothingOpen(p.String(), time.Second)
		}
	}
}

// TestUnknownOutcomes breaks the connection during a commit, and then while the
// store looks up the outcome.
func TestUnknownOutcomes(t *testing.T) {
	t.Parallel()
	f := newFaulty(t, mongodb.Lend(t))
	steps := []step{{"killSessions", ""}, {"insert", commitsCollection}, {"find", commitsCollection}}
	for _, committing := range []mishap{unsent, unanswered} {
		for _, at := range steps {
			for _, happens := range []mishap{arrives, unsent, unanswered} {
				for _, times := range []int{1, 3} {
					what := fmt.Sprintf("a commit is %s, then %s is %s %d times", committing, at, happens, times)
					left, asking := times, false
					f.proxy.on(func(s step) (mishap, func()) {
						asking = asking || s == steps[0]
						switch {
						case !asking && s == commitStep:
							return committing, nil
						case asking && s == at && left > 0:
							left--
							return happens, nil
						}
						return arrives, nil
					})
					want := 1
					if committing == unsent {
						want = 2
					}
					runs, err := f.write(t.Context())
					f.proxy.on(nil)
					if err != nil || runs != want {
						t.Errorf("%s: after %d runs: %v", what, runs, err)
					}
					f.settled(what, true)
					f.nothingOpen(what, time.Second)
				}
			}
		}
	}
}

// TestLateCommits delivers a commit after the store has given it up and another
// run has written: it has no effect.
func TestLateCommits(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for an answer")
	}
	t.Parallel()
	f := newFaulty(t, mongodb.Lend(t))
	f.meeting(commitStep, stuck, 1, nil, func() {
		if runs, err := f.write(t.Context()); err != nil || runs != 2 {
			t.Errorf("after %d runs: %v", runs, err)
		}
		f.settled("before the command arrives", true)
		f.proxy.letGo()
	})
	f.nothingOpen("at the end", time.Second)
	f.settled("when the command has arrived", false)
}

// TestOutcomeStaysUnknown loses the server during a commit, without its return
// in time.
func TestOutcomeStaysUnknown(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for the server")
	}
	t.Parallel()
	for _, committing := range []mishap{unsent, unanswered} {
		t.Run(committing.String(), func(t *testing.T) {
			t.Parallel()
			f := newFaulty(t, mongodb.Lend(t))
			gone := false
			f.proxy.on(func(s step) (mishap, func()) {
				switch {
				case gone:
					return unsent, nil
				case s == commitStep:
					gone = true
					return committing, nil
				}
				return arrives, nil
			})
			begun := time.Now()
			runs, err := f.write(t.Context())
			f.proxy.on(nil)
			if code, _ := store.CodeOf(err); code != store.CodeUncertain || runs != 1 {
				t.Errorf("after %d runs: %v", runs, err)
			}
			if took := time.Since(begun); took > committingAndSettling {
				t.Errorf("took %v", took)
			}
			f.settled("a commit of unknown outcome", committing == unanswered)
		})
	}
}

// TestCommitOfMuchIsSlow checks that a commit which a majority takes long to
// copy succeeds, beyond the time limit for small ones.
func TestCommitOfMuchIsSlow(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for longer than for the outcome of a small commit")
	}
	t.Parallel()
	set := mongodb.NewReplicaSet(t, 3)
	s := openTest(t, Options{URI: set.URI("slow_copies")})
	if err := s.EnsureCollections(t.Context(), []store.Collection{{Name: faultThings}}); err != nil {
		t.Fatal(err)
	}
	copies := func(mode string) {
		for i, primary := 0, set.Primary(); i < 3; i++ {
			if i == primary {
				continue
			}
			err := set.Member(i).Database("admin").RunCommand(t.Context(), bson.D{{Key: "configureFailPoint", Value: "stopReplProducer"}, {Key: "mode", Value: mode}}).Err()
			if err != nil {
				t.Error(err)
			}
		}
	}
	// What no majority has stays in the primary's cache.
	err := set.Client().Database("admin").RunCommand(t.Context(), bson.D{{Key: "setParameter", Value: 1},
		{Key: "wiredTigerEngineRuntimeConfig", Value: "cache_size=2G"}}).Err()
	if err != nil {
		t.Fatal(err)
	}
	copies("alwaysOn")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	runs := 0
	err = s.Write(ctx, func(tx store.Tx) error {
		runs++
		for i := range 48 {
			record := faultRecord(store.Key{Network: faultNetwork, ID: fmt.Sprint(i)}, 1)
			record.Document = fmt.Appendf(nil, `{"text":%q}`, strings.Repeat("x", 1<<20))
			if err := tx.Put(ctx, faultThings, []store.Write{{Record: record}}); err != nil {
				return err
			}
		}
		time.AfterFunc(committing+settling+2*time.Second, func() { copies("off") })
		return nil
	})
	if err != nil || runs != 1 {
		t.Errorf("after %d runs: %v", runs, err)
	}
}

const committingAndSettling = committing + settling + busy

// TestUnknownOutcomesOfUsers checks that looking up an outcome needs no
// permission but readWrite.
func TestUnknownOutcomesOfUsers(t *testing.T) {
	t.Parallel()
	set := mongodb.NewReplicaSet(t, 1, mongodb.WithAuth())
	user := bson.D{{Key: "createUser", Value: "writer"}, {Key: "pwd", Value: "writer"},
		{Key: "roles", Value: bson.A{bson.D{{Key: "role", Value: "readWrite"}, {Key: "db", Value: "rights"}}}}}
	if err := set.Client().Database("admin").RunCommand(t.Context(), user).Err(); err != nil {
		t.Fatal(err)
	}
	f := openFaulty(t, set, set.URIAs(url.UserPassword("writer", "writer"), "rights"))
	for _, happens := range []mishap{unsent, unanswered} {
		f.meeting(commitStep, happens, 2*(maxCommits+1), nil, func() {
			want := map[mishap]int{unsent: 2, unanswered: 1}[happens]
			if runs, err := f.write(t.Context()); err != nil || runs != want {
				t.Errorf("%s: after %d runs: %v", happens, runs, err)
			}
		})
		f.settled(happens.String(), true)
	}
}

// TestFaultLabels makes a statement and a commit fail with an unknown code, more often than is
// tried again without a label, so that the labels alone decide.
func TestFaultLabels(t *testing.T) {
	t.Parallel()
	f := newFaulty(t, mongodb.Lend(t))
	for _, c := range []struct {
		labels           bson.A
		statement, again bool // whether it is tried again at a statement, and at a commit
	}{
		{bson.A{}, false, false},
		{bson.A{labelTransient}, true, true},
		{bson.A{labelUnknown}, false, true},
		{bson.A{labelTransient, labelUnknown}, true, true},
		{bson.A{"RetryableWriteError"}, false, true},
		{bson.A{"RetryableWriteError", "NoWritesPerformed"}, false, true},
		{bson.A{labelOverloaded, "RetryableError"}, true, true},
		{bson.A{labelOverloaded, "RetryableError", labelTransient}, true, true},
	} {
		for _, at := range []step{{"find", faultThings}, {"insert", faultThings}, commitStep} {
			p := failPoint{at, bson.D{{Key: "errorCode", Value: 7654321}, {Key: "errorLabels", Value: c.labels}}, 1 + maxUnexplained}
			passes := c.statement
			if at == commitStep {
				passes = c.again
			}
			f.failing(p, func() {
				runs, err := f.write(t.Context())
				if code, _ := store.CodeOf(err); passes != (err == nil) || err != nil && code != store.CodeInternal || runs > p.times+1 {
					t.Errorf("%v: after %d runs: %v", p, runs, err)
				}
				f.settled(p.String(), err == nil)
			})
			f.nothingOpen(p.String(), time.Second)
		}
	}
	overloaded := bson.D{{Key: "errorCode", Value: 462}, {Key: "errorLabels", Value: bson.A{labelOverloaded, "RetryableError"}}}
	f.statementFails(failPoint{step{"insert", faultThings}, overloaded, 0}, loses, 5*short)
	f.statementFails(failPoint{commitStep, overloaded, 0}, loses, 5*short)
}
