// Package copying copies a store into an empty one of any kind. It imports the port, the sealer
// and the migration, and knows no adapter and no command. Begin with Job.
package copying

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"marquee/auth/seal"
	"marquee/engine/migration"
	"marquee/engine/store"
)

// Job copies a store that nobody writes to.
type Job struct {
	// From is the source. To was opened for loading: it is empty, or the job that filled it was
	// interrupted.
	From, To store.Portable
	// Without are collections that are not copied.
	Without []string
	// Sealer encrypts with the key of the target, and decrypts with those of the source.
	Sealer *seal.Sealer
	// Unserved returns an error if somebody serves the source by now.
	Unserved func(context.Context) error
	// Say is called with each step, and the number of items for which it is done.
	Say func(step string, items int64)
}

// ErrDiffers reports that the target has something else than the source.
var ErrDiffers = errors.New("the source was changed while it was copied, or another one was copied before: remove the target, and copy again")

// ErrOtherKey reports that some secrets of the target are encrypted with another key already.
var ErrOtherKey = errors.New("the interrupted run has encrypted secrets with another key of the target: continue with that key, or remove the target, and copy again")

// progressKey is the key of what is noted in the target.
var progressKey = store.Key{ID: "progress"}

// progress is noted with each portion.
type progress struct {
	// Next is where the source is read next.
	Next string `json:"next"`
	// Sealing is the id of the key with which the secrets of the target are being encrypted. It
	// is empty until the target was like the source.
	Sealing string `json:"sealing,omitempty"`
	// Source is the digest of the sums that both stores had then.
	Source string `json:"source,omitempty"`
}

// run is a run of a job.
type run struct {
	*Job
	done  progress
	noted store.Record
}

// Run copies what is not copied yet, compares the stores, and encrypts secrets with the key of
// the target, which is complete then. It returns the sums of the source by part.
func (j *Job) Run(ctx context.Context) (map[string]Sum, error) {
	ctx = store.LongRunning(ctx)
	r := &run{Job: j}
	if err := j.To.EnsureCollections(ctx, []store.Collection{{Name: store.LoadingCollection}}); err != nil {
		return nil, err
	}
	err := j.To.Read(ctx, func(s store.Snapshot) (err error) {
		r.noted, err = store.ReadOne(ctx, s, store.LoadingCollection, progressKey, &r.done)
		return err
	})
	if err != nil {
		return nil, err
	}
	if r.done.Sealing == "" {
		if err := r.copy(ctx); err != nil {
			return nil, err
		}
	} else if r.done.Sealing != j.Sealer.KeyID() {
		return nil, ErrOtherKey
	}
	sums, err := r.compare(ctx)
	if err != nil {
		return nil, err
	}
	if j.Sealer.Rotates() {
		r.done.Sealing, r.done.Source = j.Sealer.KeyID(), digest(sums)
		if err := r.load(ctx, &store.Portion{}, false); err != nil {
			return nil, err
		}
		if err := j.seal(ctx); err != nil {
			return nil, err
		}
	}
	if err := j.Unserved(ctx); err != nil {
		return nil, err
	}
	return sums, r.load(ctx, &store.Portion{}, true)
}

// copy loads the rest of the source. It reads while it writes.
func (r *run) copy(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	portions := make(chan *store.Portion, 2)
	group.Go(func() error {
		defer close(portions)
		return r.From.Dump(ctx, r.done.Next, func(p *store.Portion) error {
			select {
			case portions <- p:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
	})
	group.Go(func() error {
		part, items := "", int64(0)
		for p := range portions {
			if slices.Contains(r.Without, p.Part) {
				continue
			}
			if p.Part != part {
				part, items = p.Part, 0
				if len(p.Records) > 0 {
					if err := r.To.EnsureCollections(ctx, []store.Collection{{Name: part}}); err != nil {
						return err
					}
				}
			}
			r.done.Next = p.Next
			if err := r.load(ctx, p, false); err != nil {
				return err
			}
			items += int64(len(p.Records) + len(p.Changes) + len(p.Claims) + len(p.Pieces))
			r.Say("copying "+Name(part), items)
		}
		return nil
	})
	return group.Wait()
}

// load stores a portion, and how far the copy is.
func (r *run) load(ctx context.Context, p *store.Portion, last bool) error {
	content, err := json.Marshal(r.done)
	if err != nil {
		return err
	}
	was := r.noted
	was.Key = progressKey
	noted := store.InternalWrite(was, "ACTIVE", content, time.Now())
	err = r.To.Load(store.WithEffort(ctx, store.Effort{Caller: "copy", Extensive: true}), p, store.Loading{Progress: noted, Last: last})
	r.noted = noted.Record
	r.noted.Revision = noted.Next()
	return err
}

// compare compares the stores, or the source with what it was when the secrets of the target
// began to be other ones.
func (r *run) compare(ctx context.Context) (map[string]Sum, error) {
	group, within := errgroup.WithContext(ctx)
	var from, to map[string]Sum
	group.Go(func() (err error) {
		from, err = Sums(within, r.From, r.Without)
		return err
	})
	r.Say("comparing", 0)
	if r.done.Sealing == "" {
		group.Go(func() (err error) {
			to, err = Sums(within, r.To, r.Without)
			return err
		})
	}
	switch err := group.Wait(); {
	case err != nil:
		return nil, err
	case r.done.Sealing == "":
		return from, differ(from, to)
	case r.done.Source != digest(from):
		return nil, ErrDiffers
	}
	return from, nil
}

// differ returns an error if the sums of two stores differ.
func differ(from, to map[string]Sum) error {
	for part, sum := range from {
		switch have := to[part]; {
		case have.Items != sum.Items:
			return fmt.Errorf("%s: %d instead of %d: %w", Name(part), have.Items, sum.Items, ErrDiffers)
		case have != sum:
			return fmt.Errorf("%s: a digest differs: %w", Name(part), ErrDiffers)
		}
	}
	for part := range to {
		if _, there := from[part]; !there {
			return fmt.Errorf("%s: the source has none: %w", Name(part), ErrDiffers)
		}
	}
	return nil
}

// seal encrypts the secrets of the target with its own key.
func (j *Job) seal(ctx context.Context) error {
	items := int64(0)
	return j.To.Dump(ctx, "", func(p *store.Portion) error {
		var changed []store.Record
		for i := range p.Records {
			other, err := migration.ResealRecord(j.Sealer, p.Part, &p.Records[i].Record)
			if err != nil {
				return err
			}
			if other != nil {
				changed = append(changed, *other)
			}
		}
		if items += int64(len(p.Records)); len(p.Records) > 0 {
			j.Say("encrypting secrets with the key of the target", items)
		}
		if len(changed) == 0 {
			return nil
		}
		return j.To.Write(ctx, func(tx store.Tx) error { return tx.Rewrite(ctx, p.Part, changed) })
	})
}

// Name names a part of a store for people.
func Name(part string) string {
	switch part {
	case store.BlobsPart:
		return "files"
	case store.ChangesPart:
		return "the history"
	case store.ClaimsPart:
		return "unique values"
	}
	return part
}
