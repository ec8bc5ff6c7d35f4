package mongo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/engine/store"
	"marquee/integration/mongodb"
)

// The steps of a write, in order. TestFaultSteps checks them.
var (
	statements = []step{
		{"find", faultThings}, {"find", claimsCollection}, {"aggregate", faultThings}, {"delete", claimsCollection}, {"insert", faultThings},
		{"update", faultThings}, {"update", claimsCollection}, {"insert", changesCollection}, {"update", blobsCollection},
		{"insert", piecesCollection}, {"delete", blobsCollection}, {"delete", piecesCollection}, {"insert", commitsCollection},
	}
	commitStep = step{"commitTransaction", ""}
	abortStep  = step{"abortTransaction", ""}
)

// TestFaultSteps checks which commands a write sends.
func TestFaultSteps(t *testing.T) {
	t.Parallel()
	f := newFaulty(t, mongodb.Lend(t))
	sends := func(do func()) (sent []step) {
		f.proxy.on(func(s step) (mishap, func()) {
			sent = append(sent, s)
			return arrives, nil
		})
		do()
		f.proxy.on(nil) // from here on, no other goroutine touches sent
		return sent
	}
	sent := sends(func() {
		_, err := f.write(t.Context())
		f.must(err)
	})
	f.settled("a write", true)
	if want := append(slices.Clone(statements), commitStep); !slices.Equal(sent, want) {
		t.Errorf("a write sends %v, not %v", sent, want)
	}
	sent = sends(func() {
		if _, err := f.giveUp(t.Context()); err != errOwn {
			t.Error(err)
		}
	})
	f.settled("a write that is rolled back", false)
	if want := append(slices.Clone(statements[:len(statements)-1]), abortStep); !slices.Equal(sent, want) {
		t.Errorf("a write that is rolled back sends %v, not %v", sent, want)
	}
}

// class is how the store handles an error of a statement.
type class struct {
	// runs is the number of runs of the function when the error persists. An
	// error that ends earlier is not noticed.
	runs int
	code store.Code
}

// unbounded retries end only at the deadline.
const unbounded = 1 << 20

var (
	conflicts = class{1 + maxConflicts, store.CodeConflict}
	outdates  = class{1 + maxConflicts, store.CodeUnavailable}
	loses     = class{unbounded, store.CodeUnavailable}
	refuses   = class{1 + maxRefused, store.CodeConflict}
	tooLarge  = class{1, store.CodeTooLarge}
	isFull    = class{1, store.CodeFull}
	forbids   = class{1, store.CodeUnavailable}
	tooLate   = class{1, store.CodeDeadline}
	isBug     = class{1 + maxUnexplained, store.CodeInternal}
)

// The codes that the driver's specifications name (transactions, retryable
// reads and writes, discovery and monitoring), and some others.
var codeClasses = map[int]class{
	112: conflicts, 251: conflicts, 24: conflicts, 46: conflicts, 244: conflicts, 267: conflicts, 225: conflicts,
	246: outdates, 239: outdates, 341: outdates, 175: outdates, 43: outdates, 237: outdates,
	6: loses, 7: loses, 89: loses, 91: loses, 134: loses, 189: loses, 262: loses, 9001: loses, 10107: loses, 11600: loses, 11602: loses,
	117: conflicts, 276: conflicts, 285: conflicts, 12586: conflicts, 12587: conflicts, 272: conflicts, 363: conflicts, 250: outdates, 314: outdates,
	94: loses, 95: loses, 206: loses, 210: loses, 211: loses, 216: loses, 217: loses, 228: loses, 279: loses, 281: loses, 282: loses, 303: loses, 310: loses,
	355: loses, 358: loses, 372: loses, 90: loses, 145: loses, 202: loses, 317: loses, 384: loses, 365: loses, 402: loses,
	406: loses, 407: loses, 412: loses, 433: loses, 449: loses,
	13435: loses, 13436: loses, 133: loses, 63: loses, 150: loses, 234: loses, 64: loses, 79: loses, 100: loses, 10058: loses,
	11000: refuses,
	388:   tooLarge, 257: tooLarge, 10334: tooLarge, 290: tooLarge,
	14031: isFull,
	13:    forbids, 18: forbids, 8000: forbids, 11601: forbids,
	50: tooLate,
	2:  isBug, 8: isBug, 121: isBug,
}

// representatives are codes of all classes, for tests where all codes would
// take too long.
var representatives = []int{112, 246, 9001, 11602, 11000, 388, 14031, 13, 50, 2}

// Labels of errors, beyond those that the server adds.
var (
	unlabeled = bson.E{Key: "errorLabels", Value: bson.A{}}
	labeled   = bson.E{Key: "errorLabels", Value: bson.A{labelTransient}}
)

// failPoint makes commands of a step fail.
type failPoint struct {
	at   step
	data bson.D
	// times is the number of failures; 0 means always.
	times int
}

func (p failPoint) String() string {
	times := fmt.Sprintf("%d times", p.times)
	if p.times == 0 {
		times = "always"
	}
	return fmt.Sprintf("%s %v %s", p.at, p.data, times)
}

// failing sets a fail point while do runs.
func (f *faulty) failing(p failPoint, do func()) {
	f.Helper()
	var mode any = "alwaysOn"
	if p.times > 0 {
		mode = bson.D{{Key: "times", Value: p.times}}
	}
	data := append(bson.D{{Key: "failCommands", Value: bson.A{p.at.command}}, {Key: "appName", Value: f.app}}, p.data...)
	if p.at.collection != "" {
		data = append(data, bson.E{Key: "namespace", Value: f.other.db.Name() + "." + p.at.collection})
	}
	set := func(mode any) {
		f.Helper()
		f.must(f.set.Client().Database("admin").RunCommand(context.Background(),
			bson.D{{Key: "configureFailPoint", Value: "failCommand"}, {Key: "mode", Value: mode}, {Key: "data", Value: data}}).Err())
	}
	set(mode)
	defer set("off")
	do()
}

func faultCode(code int, more ...bson.E) bson.D {
	data := append(bson.D{{Key: "errorCode", Value: code}}, more...)
	if code == codeDuplicate { // which says more than others
		data = append(data, bson.E{Key: "errorExtraInfo", Value: bson.D{{Key: "keyPattern", Value: bson.D{}}, {Key: "keyValue", Value: bson.D{}}}})
	}
	return data
}

// short is the deadline of a write with a persistent error.
const short = 100 * time.Millisecond

// statementFails checks the result of a write in which a statement fails.
func (f *faulty) statementFails(p failPoint, c class, limit time.Duration) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), limit)
	defer cancel()
	f.failing(p, func() {
		f.Helper()
		begun := time.Now()
		runs, err := f.write(ctx)
		passes := p.times > 0 && p.times < c.runs
		at, _ := ctx.Deadline()
		// The driver gives up when less time is left than a command takes,
		// which may be long on a busy machine.
		late := time.Until(at) < short/2
		switch code, known := store.CodeOf(err); {
		case passes && (err != nil || runs != p.times+1),
			!passes && (err == nil || !known || runs > c.runs || runs < c.runs && !late),
			err != nil && code != c.code && (!late || code != store.CodeDeadline):
			f.Errorf("%v: after %d runs: code %d, wanted %v: %v", p, runs, code, c, err)
		}
		patience := 2 * ending
		if p.at == commitStep {
			patience = committing + settling
		}
		if took := time.Since(begun); took > limit+patience+busy {
			f.Errorf("%v: took %v", p, took)
		}
		f.settled(p.String(), err == nil)
	})
	f.nothingOpen(p.String(), time.Second)
}

// TestFaultPointsOfStatements makes each statement of a write fail in every way
// that MongoDB has: once, twice, and always.
func TestFaultPointsOfStatements(t *testing.T) {
	t.Parallel()
	for _, at := range statements {
		t.Run(at.String(), func(t *testing.T) {
			t.Parallel()
			f := newFaulty(t, mongodb.Lend(t))
			for _, code := range representatives {
				f.statementFails(failPoint{at, faultCode(code), 1}, codeClasses[code], time.Minute)
				f.statementFails(failPoint{at, faultCode(code), 0}, codeClasses[code], short)
			}
			for _, times := range []int{1, 2} {
				f.statementFails(failPoint{at, bson.D{{Key: "closeConnection", Value: true}}, times}, loses, time.Minute)
			}
			f.statementFails(failPoint{at, bson.D{{Key: "closeConnection", Value: true}}, 0}, loses, short)
			if at.command != "find" && at.command != "aggregate" {
				for _, code := range concernCodes {
					f.statementFails(failPoint{at, concernCode(code), 1}, loses, time.Minute)
				}
			}
		})
	}
}

// TestFaultPointsOfCodes makes one statement of each kind fail with every code.
func TestFaultPointsOfCodes(t *testing.T) {
	t.Parallel()
	for _, at := range []step{{"find", faultThings}, {"insert", faultThings}, {"update", faultThings}, {"delete", claimsCollection}, {"aggregate", faultThings}} {
		t.Run(at.String(), func(t *testing.T) {
			t.Parallel()
			f := newFaulty(t, mongodb.Lend(t))
			for code, class := range codeClasses {
				if testing.Short() && at.command != "insert" {
					continue
				}
				f.statementFails(failPoint{at, faultCode(code), 2}, class, time.Minute)
			}
			for _, code := range representatives {
				f.statementFails(failPoint{at, faultCode(code, unlabeled), 1}, codeClasses[code], time.Minute)
				class := codeClasses[code]
				if class == isBug { // the label decides
					class = conflicts
				}
				f.statementFails(failPoint{at, faultCode(code, labeled), 1}, class, time.Minute)
			}
			f.statementFails(failPoint{at, faultCode(7654321, labeled), 2}, conflicts, time.Minute)
		})
	}
}

// TestFaultWhilePrimaryChanges makes statements and a commit fail with a code that nobody
// knows, while the set has no primary: the write succeeds once it has one again.
func TestFaultWhilePrimaryChanges(t *testing.T) {
	t.Parallel()
	f := newFaulty(t, mongodb.Lend(t))
	for _, at := range append(slices.Clone(statements), commitStep) {
		p, primary := failPoint{at, faultCode(7654321, unlabeled), 1}, f.s.leader.primary
		f.failing(p, func() {
			runs := 0
			err := f.s.Write(t.Context(), func(tx store.Tx) error {
				runs++
				if f.s.leader.found(primary); runs == 1 {
					f.s.leader.found("")
				}
				return f.statements(t.Context(), tx)
			})
			if err != nil || runs != 2 {
				t.Errorf("%v: after %d runs: %v", p, runs, err)
			}
			f.settled(p.String(), err == nil)
		})
	}
}

// TestFaultPointsEnd makes an error persist, and waits until the store gives up
// before the deadline.
func TestFaultPointsEnd(t *testing.T) {
	t.Parallel()
	f := newFaulty(t, mongodb.Lend(t))
	for _, code := range representatives {
		if class := codeClasses[code]; class != loses {
			f.statementFails(failPoint{statements[4], faultCode(code), 0}, class, time.Minute)
		}
	}
}

// concernCodes are the codes of write concerns that are not met.
var concernCodes = []int{64, 91, 79, 100}

// concernCode makes a command take effect without its write concern.
func concernCode(code int) bson.D {
	return bson.D{{Key: "writeConcernError", Value: bson.D{{Key: "code", Value: code}, {Key: "errmsg", Value: "as asked"}}}}
}

// TestFaultPointsOfAborts makes the abort of a transaction fail: Write returns
// the function's error, and nothing stays open.
func TestFaultPointsOfAborts(t *testing.T) {
	t.Parallel()
	f := newFaulty(t, mongodb.Lend(t))
	fails := []bson.D{{{Key: "closeConnection", Value: true}}, {{Key: "blockConnection", Value: true}, {Key: "blockTimeMS", Value: 50}}}
	for code := range codeClasses {
		if !testing.Short() || slices.Contains(representatives, code) {
			fails = append(fails, faultCode(code))
		}
	}
	for _, code := range concernCodes {
		fails = append(fails, concernCode(code))
	}
	for _, data := range fails {
		for _, times := range []int{1, 2, 0} {
			p := failPoint{abortStep, data, times}
			f.failing(p, func() {
				if runs, err := f.giveUp(t.Context()); err != errOwn || runs != 1 {
					t.Errorf("%v: after %d runs: %v", p, runs, err)
				}
				f.settled(p.String(), false)
				f.nothingOpen(p.String(), time.Second)
			})
		}
	}
}

// TestFaultPointsSlow makes each step of a write take longer than the request
// may.
func TestFaultPointsSlow(t *testing.T) {
	t.Parallel()
	f := newFaulty(t, mongodb.Lend(t))
	for _, at := range append(slices.Clone(statements), commitStep) {
		deadline := short
		if at == commitStep {
			deadline = time.Second // so that the commit begins before it
		}
		block := deadline + short
		slow := bson.D{{Key: "blockConnection", Value: true}, {Key: "blockTimeMS", Value: block.Milliseconds()}}
		for _, times := range []int{1, 0} {
			p := failPoint{at, slow, times}
			f.failing(p, func() {
				ctx, cancel := context.WithTimeout(t.Context(), deadline)
				defer cancel()
				begun := time.Now()
				runs, err := f.write(ctx)
				code, _ := store.CodeOf(err)
				// Write waits for a commit that has begun.
				if stored := at == commitStep; stored != (err == nil) || !stored && code != store.CodeDeadline || runs != 1 {
					t.Errorf("%v: after %d runs: %d %v", p, runs, code, err)
				}
				if took := time.Since(begun); took > block+busy {
					t.Errorf("%v: took %v", p, took)
				}
				f.settled(p.String(), err == nil)
			})
			f.nothingOpen(p.String(), block+time.Second)
		}
	}
}

// TestFaultsShowNoAddress checks that errors do not repeat the connection
// string.
func TestFaultsShowNoAddress(t *testing.T) {
	t.Parallel()
	f := newFaulty(t, mongodb.Lend(t))
	f.failing(failPoint{statements[0], bson.D{{Key: "closeConnection", Value: true}}, 0}, func() {
		ctx, cancel := context.WithTimeout(t.Context(), short)
		defer cancel()
		_, err := f.write(ctx)
		var known *store.Error
		if !errors.As(err, &known) || strings.Contains(err.Error(), "mongodb://") {
			t.Errorf("%v", err)
		}
	})
}
