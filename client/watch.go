package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// A Change is a step of Watch.
type Change[T any] struct {
	// Reset reports that all objects are to be forgotten; those that there are now follow. It is
	// the first step, and there is another one when the caller's rights or the schemas have changed,
	// or when the server has removed changes that were not received yet.
	Reset bool
	ID    string
	// Object is the object as it is now; nil if it was removed, or if the caller no longer sees it.
	Object *T
}

// Watch iterates over the objects of the type, hidden ones included, and then over their changes,
// as they are committed: whoever applies all steps holds what a list would return, except that
// what changes without a new version is as old as the last step, and that objects which the caller
// sees only because they are public are not followed. A step can be repeated. While the server
// cannot be reached, Watch tries again until the context ends. After an error, the iteration ends:
// the context has ended, or the server refuses the caller. Objects beneath another one, and users
// and networks, cannot be watched.
func (o Objects[T]) Watch(ctx context.Context) iter.Seq2[Change[T], error] {
	return func(yield func(Change[T], error) bool) {
		w := watch[T]{ctx, o, strings.TrimPrefix(o.path, "/api/v1/"), yield}
		err := error(nil)
		if strings.Contains(w.name, "/") {
			err = fmt.Errorf("client: the objects of %s cannot be watched", w.name)
		}
		for err == nil {
			var position string
			if position, err = w.list(); err == nil {
				err = w.follow(position)
			}
			if HasCode(err, CodePositionInvalid) { // of a store that has been restored
				err = nil
			}
		}
		if !errors.Is(err, errLeft) {
			yield(Change[T]{}, err)
		}
	}
}

// errLeft reports that the loop over the steps has ended.
var errLeft = errors.New("client: the loop has ended")

type watch[T any] struct {
	ctx   context.Context
	of    Objects[T]
	name  string
	yield func(Change[T], error) bool
}

// list yields the objects that there are, and returns the position before them. That of each page
// is asked for with the one before it: it also notes what pages have left out.
func (w *watch[T]) list() (position string, err error) {
	if !w.yield(Change[T]{Reset: true}, nil) {
		return "", errLeft
	}
	query := w.of.network.query(url.Values{"position": {"true"}, "includeHidden": {"true"}, "count": {"false"}, "pageSize": {"500"}})
	for {
		var page struct {
			Results    []json.RawMessage `json:"results"`
			NextCursor string            `json:"nextCursor"`
		}
		answer, err := w.get(w.of.path, query, &page)
		if err != nil {
			return "", err
		}
		position = answer.header.Get("Marquee-Position")
		for _, object := range page.Results {
			var named struct {
				ID string `json:"id"`
			}
			if err := json.Unmarshal(object, &named); err != nil {
				return "", fmt.Errorf("client: %w", err)
			}
			if err := w.step(named.ID, object); err != nil {
				return "", err
			}
		}
		if page.NextCursor == "" {
			return position, nil
		}
		query.Set("position", position)
		query.Set("cursor", page.NextCursor)
	}
}

// follow yields the changes after a position. It returns nil when the objects must be read again.
func (w *watch[T]) follow(position string) error {
	query := w.of.network.query(url.Values{"type": {w.name}, "include": {"object"}, "limit": {"500"}, "wait": {"25"}})
	for {
		query.Set("after", position)
		var page struct {
			Results []struct {
				ID     string          `json:"id"`
				Object json.RawMessage `json:"object"`
			} `json:"results"`
			Position string `json:"position"`
			Reset    string `json:"reset"`
		}
		if _, err := w.get("/api/v1/changes", query, &page); err != nil || page.Reset != "" {
			return err
		}
		for _, event := range page.Results {
			if err := w.step(event.ID, event.Object); err != nil {
				return err
			}
		}
		position = page.Position
	}
}

// step yields an object, or that it is gone if it has no content.
func (w *watch[T]) step(id string, content json.RawMessage) error {
	change := Change[T]{ID: id}
	if len(content) > 0 {
		change.Object = new(T)
		if err := json.Unmarshal(content, change.Object); err != nil {
			return fmt.Errorf("client: %w", err)
		}
	}
	if !w.yield(change, nil) {
		return errLeft
	}
	return nil
}

// get sends a request until it is answered, or refused because of the caller or what is asked.
func (w *watch[T]) get(path string, query url.Values, out any) (*response, error) {
	c := w.of.network.client
	for wait := time.Second; ; wait = min(2*wait, c.options.MaxWait) {
		answer, err := c.send(w.ctx, &request{method: http.MethodGet, path: path, query: query, idempotent: true}, out)
		var refused *Error
		switch {
		case err == nil, w.ctx.Err() != nil, errors.Is(err, ErrSignedOut):
			return answer, err
		case errors.As(err, &refused) && refused.Status < http.StatusInternalServerError && refused.Status != http.StatusTooManyRequests:
			return nil, err
		}
		if !pause(w.ctx, wait/2+rand.N(wait/2)) { // #nosec G404 -- nothing secret depends on it
			return nil, w.ctx.Err()
		}
	}
}
