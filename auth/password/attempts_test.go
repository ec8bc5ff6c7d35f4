package password_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"marquee/auth"
	"marquee/auth/authtest"
	"marquee/auth/password"
	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/store"
)

const rightWord, wrongWord = authtest.Password, "the wrong word 4"

// limited returns a service with low limits and a clock, and what else changes its
// configuration.
func limited(t *testing.T, changes ...func(*auth.Config)) (*engine.Engine, *auth.Service, func(time.Duration)) {
	t.Helper()
	clock, set := authtest.NewClock()
	e, service := authtest.New(t, append(changes, set, func(c *auth.Config) {
		c.SignIns = password.Limits{Name: 2, Address: 3, Window: 15 * time.Minute}
	})...)
	return e, service, clock.Advance
}

func tried(t *testing.T, s *auth.Service, address, name, text string) error {
	t.Helper()
	_, err := s.Sessions.SignIn(t.Context(), address, name, text, "")
	return err
}

// The failures of a name are counted whether or not a user has it, in whatever case it
// is written, until they are a quarter of an hour old; then the user can sign in.
func TestFailuresOfAName(t *testing.T) {
	var config *auth.Config
	_, service, advance := limited(t, func(c *auth.Config) { config = c })
	other, err := auth.New(t.Context(), *config)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"reader-east", "nobody"} {
		for i, server := range []*auth.Service{service, other} {
			if err := tried(t, server, fmt.Sprintf("192.0.2.%d", i), strings.ToUpper(name), wrongWord); !message.InvalidGrant.Is(err) {
				t.Fatalf("%s: %v", name, err)
			}
		}
		for _, server := range []*auth.Service{service, other} {
			before := password.Hashes()
			err := tried(t, server, "192.0.2.9", name, rightWord)
			if !message.SignInsFailed.Is(err) || password.Hashes() != before {
				t.Fatalf("%s: %v, and %d hashes", name, err, password.Hashes()-before)
			}
			if wait := err.(*message.Error).RetryAfter; wait < 15*time.Minute || wait > 16*time.Minute {
				t.Errorf("%s: wait %v", name, wait)
			}
		}
	}
	if err := tried(t, service, "192.0.2.9", "boss-east", rightWord); err != nil {
		t.Errorf("another user: %v", err)
	}
	advance(14 * time.Minute)
	if err := tried(t, service, "192.0.2.9", "reader-east", rightWord); !message.SignInsFailed.Is(err) {
		t.Errorf("too early: %v", err)
	}
	advance(2 * time.Minute)
	if err := tried(t, service, "192.0.2.9", "reader-east", rightWord); err != nil {
		t.Errorf("later: %v", err)
	}
}

// An address where the user has signed in before has a counter of its own, which others
// cannot reach, and which a success clears.
func TestAddressWhereTheUserHasSignedIn(t *testing.T) {
	_, service, _ := limited(t)
	home, away := "2001:db8:1:2::1", "192.0.2.1"
	if err := tried(t, service, home, "reader-east", rightWord); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := tried(t, service, away, "reader-east", wrongWord); !message.InvalidGrant.Is(err) {
			t.Fatal(err)
		}
	}
	if err := tried(t, service, away, "reader-east", rightWord); !message.SignInsFailed.Is(err) {
		t.Errorf("away: %v", err)
	}
	for range 2 { // another address of the same network
		if err := tried(t, service, "2001:db8:1:2:ffff::7", "reader-east", wrongWord); !message.InvalidGrant.Is(err) {
			t.Errorf("a mistake at home: %v", err)
		}
		if err := tried(t, service, home, "reader-east", rightWord); err != nil {
			t.Errorf("at home: %v", err)
		}
	}
	for range 2 {
		_ = tried(t, service, home, "reader-east", wrongWord)
	}
	if err := tried(t, service, home, "reader-east", rightWord); !message.SignInsFailed.Is(err) {
		t.Errorf("two mistakes at home: %v", err)
	}
}

// The failures of an address are counted over all names; IPv6 addresses of a /64
// network are one.
func TestFailuresOfAnAddress(t *testing.T) {
	_, service, _ := limited(t)
	for i := range 3 {
		if err := tried(t, service, fmt.Sprintf("2001:db8::%d", i), fmt.Sprintf("name-%d", i), wrongWord); !message.InvalidGrant.Is(err) {
			t.Fatal(err)
		}
	}
	if err := tried(t, service, "2001:db8::ffff", "reader-east", rightWord); !message.SignInsFailed.Is(err) {
		t.Errorf("the same network: %v", err)
	}
	if err := tried(t, service, "2001:db8:0:1::1", "reader-east", rightWord); err != nil {
		t.Errorf("another network: %v", err)
	}
}

// A new password ends the wait, so that a manager can help a user who is locked out.
func TestNewPasswordEndsTheWait(t *testing.T) {
	e, service, _ := limited(t)
	for range 2 {
		_ = tried(t, service, "192.0.2.1", "reader-east", wrongWord)
	}
	setPassword(t, e, "reader east", "a new word, and long")
	if err := tried(t, service, "192.0.2.1", "reader-east", "a new word, and long"); err != nil {
		t.Error(err)
	}
}

// Guesses that are sent at once do not outrun the count.
func TestRacingGuesses(t *testing.T) {
	_, service, _ := limited(t)
	before := password.Hashes()
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() { _ = tried(t, service, fmt.Sprintf("192.0.2.%d", i), "reader-east", wrongWord) })
	}
	all.Wait()
	if n := password.Hashes() - before; n != 2 {
		t.Errorf("%d passwords were checked", n)
	}
}

// traced records the calls of a store.
type traced struct {
	store.Store
	calls []string
}

func (s *traced) Read(ctx context.Context, fn func(store.Snapshot) error) error {
	s.calls = append(s.calls, "read")
	return s.Store.Read(ctx, func(r store.Snapshot) error { return fn(&tracedSnapshot{r, s}) })
}

func (s *traced) Write(ctx context.Context, fn func(store.Tx) error) error {
	s.calls = append(s.calls, "write")
	return s.Store.Write(ctx, func(tx store.Tx) error { return fn(&tracedTx{tx, s}) })
}

type tracedSnapshot struct {
	store.Snapshot
	s *traced
}

func (r *tracedSnapshot) Get(ctx context.Context, collection string, keys []store.Key, yield func(*store.Record) error) error {
	r.s.calls = append(r.s.calls, fmt.Sprintf("get %d of %s", len(keys), collection))
	return r.Snapshot.Get(ctx, collection, keys, yield)
}

func (r *tracedSnapshot) Claims(ctx context.Context, claims []store.Claim) (map[store.Claim]string, error) {
	r.s.calls = append(r.s.calls, "claims")
	return r.Snapshot.Claims(ctx, claims)
}

type tracedTx struct {
	store.Tx
	s *traced
}

func (tx *tracedTx) Get(ctx context.Context, collection string, keys []store.Key, yield func(*store.Record) error) error {
	tx.s.calls = append(tx.s.calls, fmt.Sprintf("get %d of %s", len(keys), collection))
	return tx.Tx.Get(ctx, collection, keys, yield)
}

func (tx *tracedTx) Put(ctx context.Context, collection string, writes []store.Write) error {
	tx.s.calls = append(tx.s.calls, fmt.Sprintf("put %d of %s", len(writes), collection))
	return tx.Tx.Put(ctx, collection, writes)
}

// A refused sign-in does the same work whether or not the user exists: the same calls
// of the store, and one hash with the same parameters. A refusal without a look at the
// password does the same work, too.
func TestSignInDoesTheSameWork(t *testing.T) {
	tracing := &traced{}
	e, service, _ := limited(t, func(c *auth.Config) { tracing.Store, c.Store = c.Store, tracing })
	never := authtest.Operation(t, e, "users", map[string]any{"id": "never", "username": "never-signed-in"})
	if err := authtest.Write(t, e, "", never); err != nil {
		t.Fatal(err)
	}
	work := map[string][]string{}
	names := []string{"reader-east", "nobody at all", "never-signed-in"}
	for i, name := range names {
		tracing.calls = nil
		for range 3 {
			before := password.Hashes()
			err := tried(t, service, fmt.Sprintf("192.0.2.%d", i), name, wrongWord)
			tracing.calls = append(tracing.calls, fmt.Sprintf("%d hashes: %v", password.Hashes()-before, err))
		}
		work[name] = tracing.calls
	}
	for _, name := range names[1:] {
		if !slices.Equal(work[name], work[names[0]]) {
			t.Errorf("%s:\n%s\n%s:\n%s", name, strings.Join(work[name], "\n"), names[0], strings.Join(work[names[0]], "\n"))
		}
	}
}

// setPassword sets a password on behalf of the service itself.
func setPassword(t *testing.T, e *engine.Engine, user, text string) {
	t.Helper()
	if err := authtest.Write(t, e, "", authtest.Operation(t, e, "users", map[string]any{"id": user, "password": text})); err != nil {
		t.Fatal(err)
	}
}

// changesOwn sends a change of the own password of a user of engineWithUsers.
func changesOwn(t *testing.T, e *engine.Engine, id, current, text string) error {
	t.Helper()
	object := authtest.Operation(t, e, "users", map[string]any{"id": id, "password": text, "currentPassword": current})
	_, err := e.Write(t.Context(), &engine.Caller{User: id}, engine.Batch{Operations: []engine.Operation{object}})
	return err
}

// Wrong values of currentPassword are counted apart from sign-ins, until the user has a
// new password. Those that are sent at once do not outrun the count.
func TestGuessesOfTheCurrentPassword(t *testing.T) {
	e, service, advance := limited(t)
	for range 3 {
		_ = tried(t, service, "192.0.2.1", "reader-east", wrongWord)
	}
	before := password.Hashes()
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() {
			if err := changesOwn(t, e, "reader east", wrongWord, "a new word, and long"); !message.CurrentPasswordWrong.Is(err) && !message.SignInsFailed.Is(err) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := password.Hashes() - before; n != 2 {
		t.Errorf("%d guesses were compared", n)
	}
	err := changesOwn(t, e, "reader east", rightWord, "a new word, and long")
	if !message.SignInsFailed.Is(err) {
		t.Fatalf("after two guesses: %v", err)
	}
	if wait := err.(*message.Error).RetryAfter; wait < 15*time.Minute || wait > 16*time.Minute {
		t.Errorf("wait %v", wait)
	}
	if err := changesOwn(t, e, "reader west", rightWord, "a new word, and long"); err != nil {
		t.Errorf("another user: %v", err)
	}
	setPassword(t, e, "reader east", "set by a manager")
	if err := changesOwn(t, e, "reader east", "set by a manager", "a new word, and long"); err != nil {
		t.Errorf("after a new password: %v", err)
	}
	for range 2 {
		_ = changesOwn(t, e, "boss east", wrongWord, "a new word, and long")
	}
	advance(16 * time.Minute)
	if err := changesOwn(t, e, "boss east", rightWord, "a new word, and long"); err != nil {
		t.Errorf("later: %v", err)
	}
}
