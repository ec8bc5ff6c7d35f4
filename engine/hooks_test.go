package engine_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"marquee/engine"
	"marquee/engine/store"
)

// noted returns hooks that note in calls when they run, and fail with err.
func noted(calls *[]string, name string, err error) engine.Hooks {
	note := func(hook string) error {
		*calls = append(*calls, name+" "+hook)
		return err
	}
	write := func(hook string) func(context.Context, *engine.Writing, []*engine.Change) error {
		return func(context.Context, *engine.Writing, []*engine.Change) error { return note(hook) }
	}
	return engine.Hooks{
		Prepare:        func(context.Context, *engine.Change) error { return note("Prepare") },
		BeforeValidate: write("BeforeValidate"),
		Validate:       write("Validate"),
		BeforeStore:    write("BeforeStore"),
		BeforeRender:   func(*engine.Caller, *store.Record) error { return note("BeforeRender") },
		Derive:         func(context.Context, *engine.Reading, []*store.Record) error { return note("Derive") },
		Dependants:     []engine.Dependants{{}},
		Hidden:         []string{name},
	}
}

// runAll runs each hook, and returns the errors.
func runAll(h engine.Hooks) error {
	ctx := context.Background()
	return errors.Join(h.Prepare(ctx, nil), h.BeforeValidate(ctx, nil, nil), h.Validate(ctx, nil, nil), h.BeforeStore(ctx, nil, nil),
		h.BeforeRender(nil, nil), h.Derive(ctx, nil, nil))
}

// TestThen: the hooks of both run in turn, and the second ones only if the first succeed.
func TestThen(t *testing.T) {
	names := []string{"Prepare", "BeforeValidate", "Validate", "BeforeStore", "BeforeRender", "Derive"}
	var calls, want []string
	both := noted(&calls, "first", nil).Then(noted(&calls, "second", nil))
	if err := runAll(both); err != nil {
		t.Error(err)
	}
	for _, name := range names {
		want = append(want, "first "+name, "second "+name)
	}
	if !slices.Equal(calls, want) {
		t.Errorf("called %q", calls)
	}
	if len(both.Dependants) != 2 || !slices.Equal(both.Hidden, []string{"first", "second"}) {
		t.Errorf("the declarations are %v and %v", both.Dependants, both.Hidden)
	}

	calls, want = nil, nil
	refused := errors.New("refused")
	if err := runAll(noted(&calls, "first", refused).Then(noted(&calls, "second", nil))); !errors.Is(err, refused) {
		t.Errorf("the error is %v", err)
	}
	for _, name := range names {
		want = append(want, "first "+name)
	}
	if !slices.Equal(calls, want) {
		t.Errorf("after a refusal, called %q", calls)
	}
}

// TestThenOfNothing: hooks of one side alone stay as they are, and hooks of neither stay nil.
func TestThenOfNothing(t *testing.T) {
	for _, one := range []func(h engine.Hooks) engine.Hooks{
		func(h engine.Hooks) engine.Hooks { return h.Then(engine.Hooks{}) },
		func(h engine.Hooks) engine.Hooks { return engine.Hooks{}.Then(h) },
	} {
		var calls []string
		if err := runAll(one(noted(&calls, "only", nil))); err != nil || len(calls) != 6 {
			t.Errorf("called %q: %v", calls, err)
		}
	}
	none := engine.Hooks{}.Then(engine.Hooks{})
	if none.Prepare != nil || none.BeforeValidate != nil || none.Validate != nil || none.BeforeStore != nil || none.BeforeRender != nil || none.Derive != nil {
		t.Error("a hook appeared from nothing")
	}
}

// TestEach: a hook for single changes runs for each of them, up to the first error.
func TestEach(t *testing.T) {
	refused := errors.New("refused")
	changes := []*engine.Change{{ID: "a"}, {ID: "b"}, {ID: "c"}}
	var ids []string
	hook := engine.Each(func(_ context.Context, _ *engine.Writing, c *engine.Change) error {
		if ids = append(ids, c.ID); c.ID == "b" {
			return refused
		}
		return nil
	})
	if err := hook(context.Background(), nil, changes); !errors.Is(err, refused) || !slices.Equal(ids, []string{"a", "b"}) {
		t.Errorf("called for %q: %v", ids, err)
	}
}
