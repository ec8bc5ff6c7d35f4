package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	"marquee/engine/catalog"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/engine/verify"
)

// checkLine is one thing that a check reports: its progress, a fault of the store, or what
// a proposed set would do.
type checkLine struct {
	// Checking is what is being checked, and Objects the number of objects checked so far.
	Checking string          `json:"checking,omitempty"`
	Objects  int64           `json:"objects,omitempty"`
	Fault    *checkFault     `json:"fault,omitempty"`
	Finding  *verify.Finding `json:"finding,omitempty"`
	// Places are the places of values that a type does not declare, with their objects.
	Places map[string]int64 `json:"places,omitempty"`
	// Complete is the last line of a check that a server has completed; Failed is the reason
	// why it could not, and Usage reports that the request is at fault.
	Complete bool   `json:"complete,omitempty"`
	Failed   string `json:"failed,omitempty"`
	Usage    bool   `json:"usage,omitempty"`
}

// checkFault is a fault of an object, of a type, or of the store itself.
type checkFault struct {
	Store   string `json:"store,omitempty"`
	Type    string `json:"type,omitempty"`
	Network string `json:"network,omitempty"`
	ID      string `json:"id,omitempty"`
	Text    string `json:"text"`
	Cure    string `json:"cure"`
}

// String returns the fault on one line.
func (f *checkFault) String() string {
	what := f.Store + f.Type
	if f.ID != "" {
		what += fmt.Sprintf(" %q", f.ID)
	}
	if f.Network != "" {
		what += fmt.Sprintf(" of the network %q", f.Network)
	}
	return what + ": " + f.Text + ": " + f.Cure
}

// storeCheck is a check of a store with a name.
type storeCheck struct {
	store   string
	catalog *catalog.Catalog
	yield   func(checkLine) error
	// pause is called after each page of objects.
	pause func(ctx context.Context, took time.Duration)
}

// stored reports what is wrong with the store. Files checks what objects have besides their
// documents.
func (c *storeCheck) stored(ctx context.Context, files map[string]func(context.Context, store.Snapshot, *store.Record) ([]string, error)) error {
	ctx = store.LongRunning(ctx)
	fault := func(f checkFault) error { return c.yield(checkLine{Fault: &f}) }
	if file, ok := c.catalog.Store.(interface {
		Verify(ctx context.Context, yield func(fault string) error) error
	}); ok {
		if err := c.yield(checkLine{Checking: "the file"}); err != nil {
			return err
		}
		err := file.Verify(ctx, func(text string) error {
			return fault(checkFault{Store: c.store, Text: text, Cure: "restore it from a backup"})
		})
		if err != nil {
			return err
		}
	}
	began := time.Now()
	err := verify.Verify(ctx, c.catalog, verify.Verification{Files: files,
		Fault: func(f verify.Fault) error {
			return fault(checkFault{Type: f.Type, Network: f.Network, ID: f.ID, Text: f.Text, Cure: f.Cure})
		},
		Progress: func(t *schema.Type, objects int64) error {
			err := c.yield(checkLine{Checking: t.Served().Name, Objects: objects})
			if c.pause != nil {
				c.pause(ctx, time.Since(began))
			}
			began = time.Now()
			return err
		}})
	if err != nil {
		return err
	}
	err = verify.CheckForms(ctx, c.catalog, func(n verify.Nonconforming) error {
		wrong := "does not conform to " + n.Form
		if len(n.Others) > 0 {
			wrong = "is, in the form " + n.Form + ", that of " + strings.Join(n.Others, ", ")
		}
		return fault(checkFault{Type: n.Type.Served().Name, Network: n.Network, ID: n.ID, Text: fmt.Sprintf("%s %q %s", n.Property, n.Value, wrong), Cure: "give it another"})
	})
	if err != nil {
		return err
	}
	return c.inPlace()
}

// inPlace returns an error if the file was moved or deleted meanwhile. The disk may be full, or
// read-only: nothing was written.
func (c *storeCheck) inPlace() error {
	if file, ok := c.catalog.Store.(interface{ InPlace() error }); ok {
		return file.InPlace()
	}
	return nil
}

// proposed reports what a set would do to the stored objects. Before is the one that is
// served, nil if it is not known.
func (c *storeCheck) proposed(ctx context.Context, before, proposed *schema.Registry, temporary func() verify.Temporary) error {
	err := verify.CheckProposed(store.LongRunning(ctx), c.catalog, verify.Proposal{
		Before: before, Proposed: proposed, Temporary: temporary, Rest: c.pause,
		Finding:  func(f *verify.Finding) error { return c.yield(checkLine{Finding: f}) },
		Progress: func(name string, objects int64) error { return c.yield(checkLine{Checking: name, Objects: objects}) },
	})
	if err != nil {
		return err
	}
	return c.inPlace()
}
