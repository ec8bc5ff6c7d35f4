package transfer

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"marquee"
	"marquee/engine/store"
	"marquee/engine/transfer"
	"marquee/integration/process"
	"marquee/integration/service"
)

// faultyWrites is a store in which some writes fail.
type faultyWrites struct {
	store.Store
	writes int
	fails  func(write int) *store.Error
}

func (f *faultyWrites) Write(ctx context.Context, fn func(store.Tx) error) error {
	f.writes++
	if err := f.fails(f.writes); err != nil {
		return err
	}
	return f.Store.Write(ctx, fn)
}

// importInto imports notes into a service through another store.
func importInto(ctx context.Context, t *testing.T, s *service.Service, through store.Store, file string) (transfer.Status, error) {
	t.Helper()
	other, err := marquee.Open(t.Context(), s.Options)
	if err != nil {
		t.Fatal(err)
	}
	e := other.Engine()
	e.Store = through
	notes, err := e.Type("notes")
	if err != nil {
		t.Fatal(err)
	}
	input, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	im, err := transfer.Import{Target: transfer.Local{Engine: e}, Input: input, Type: notes, Context: service.Network, Chunk: 10, Progress: file + ".progress", Store: "s"}.Open()
	if err != nil {
		t.Fatal(err)
	}
	err = im.Run(ctx)
	if closed := im.Close(); closed != nil {
		t.Error(closed)
	}
	return im.Status(), err
}

// TestImportStopsWhereTheStoreFails, and goes on there; a conflict with other
// writers does not stop it.
func TestImportStopsWhereTheStoreFails(t *testing.T) {
	service.EachStore(t, testImportStopsWhereTheStoreFails)
}

func testImportStopsWhereTheStoreFails(t *testing.T, fresh service.NewStore) {
	s := service.New(t, fresh)
	var lines []string
	for i := range 95 {
		lines = append(lines, fmt.Sprintf(`{"id": "n%d", "text": "secret %d"}`, i, i))
	}
	lines[3] = `{"text": 3}`
	file := process.ImportFile(t, lines...)
	for _, code := range []store.Code{store.CodeFull, store.CodeUncertain, store.CodeInternal} {
		f := &faultyWrites{s.Store, 0, func(n int) *store.Error {
			if n == 4 {
				return &store.Error{Code: code, Text: "the test wants it"}
			}
			return nil
		}}
		status, err := importInto(context.Background(), t, s, f, file)
		if err == nil || !strings.Contains(err.Error(), "the test wants it") || !strings.Contains(err.Error(), "could not be written") {
			t.Errorf("%v: %v", code, err)
		}
		if status.Lines%10 != 0 || status.Lines == 0 || status.Rejected != 1 {
			t.Errorf("%v: it stopped at %+v", code, status)
		}
		kept, err := os.ReadFile(file + ".progress")
		if err != nil {
			t.Fatal(err)
		}
		process.Shuns(t, string(kept), "secret")
	}
	// Interrupted before it does anything, and then only met by others.
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := importInto(ended, t, s, s.Store, file); err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("an interrupted import ends with %v", err)
	}
	f := &faultyWrites{s.Store, 0, func(n int) *store.Error {
		if n%3 != 0 {
			return &store.Error{Code: store.CodeConflict, Text: "met another"}
		}
		return nil
	}}
	status, err := importInto(context.Background(), t, s, f, file)
	if err != nil || status.Objects != 94 || status.Created != 94 || status.Lines != 95 {
		t.Errorf("it ended with %+v %v", status, err)
	}
	process.Gone(t, file)
	if _, err := importInto(context.Background(), t, s, &faultyWrites{s.Store, 0, func(int) *store.Error {
		return &store.Error{Code: store.CodeConflict, Text: "met another"}
	}}, file); err == nil {
		t.Error("endless conflicts do not end the import")
	}
}
