package password

import (
	"cmp"
	"context"
	"time"

	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// Failed sign-ins are counted by name and by address in the store, so that the counts
// survive a restart and all servers of a store share them. From an address where a
// user has signed in before, that user's failures are counted apart: failures from
// elsewhere do not lock the user out there.
//
// The counts are in a fixed number of records, and a record has a fixed number of
// entries, so that attempts with ever new names and addresses do not fill the disk.

// Limits are how many sign-ins can fail within a time, before further ones are
// refused without looking at the password. Refused ones are not counted.
type Limits struct {
	// Name is the limit for a username, and for a user at an address where the user
	// has signed in before; 0 means 5.
	Name int
	// Address is the limit for an address, for IPv6 a /64 network; 0 means 100.
	Address int
	// Window is the time; 0 means 15 minutes.
	Window time.Duration
}

// DefaultLimits are the limits of the interface decisions.
var DefaultLimits = Limits{Name: 5, Address: 100, Window: 15 * time.Minute}

func (l Limits) orDefault() Limits {
	return Limits{Name: cmp.Or(max(l.Name, 0), DefaultLimits.Name), Address: cmp.Or(max(l.Address, 0), DefaultLimits.Address),
		Window: cmp.Or(max(l.Window, 0), DefaultLimits.Window)}
}

// Attempts counts the failed sign-ins of a store, and wrong guesses of the current
// passwords of its users.
type Attempts struct {
	store  store.Store
	limits Limits
	now    func() time.Time
	lines  lines
}

// NewAttempts returns Attempts whose counts are in a store.
func NewAttempts(s store.Store, limits Limits, now func() time.Time) *Attempts {
	return &Attempts{store: s, limits: limits.orDefault(), now: now}
}

// Attempt is a sign-in that is counted if it fails. Leave ends it.
type Attempt struct {
	// From is the origin that the attempt waits in line for.
	From string
	// Leave lets the next attempt with the same name begin.
	Leave func()

	attempts         *Attempts
	name, place, own counter
	address          string
	// counters are those that count a failure.
	counters []counter
	// news reports whether a success has to be remembered.
	news bool
}

// SignIn begins a sign-in. Those with the same name follow each other, so that they
// cannot outrun the count, and each waits in line with those from other addresses until
// the context ends.
func (a *Attempts) SignIn(ctx context.Context, address, username string) (*Attempt, error) {
	from, name := originOf(address), countedName(username)
	leave, err := a.lines.enter(ctx, name, from)
	if err != nil {
		return nil, err
	}
	return &Attempt{From: from, Leave: leave, attempts: a, address: hashAddress(from), name: a.named(name),
		place: newCounter(a.limits.Address, "address", from), own: newCounter(a.limits.Name, "own", name+"\x00"+from)}, nil
}

// Read returns the hash of a user's password and its revision, and reads all that the
// attempt depends on. It reads as much without a user, so that the time reveals nothing.
// The error is message.SignInsFailed if a limit has been reached, or of the store.
func (t *Attempt) Read(ctx context.Context, r store.Snapshot, user string) (hash string, revision int64, err error) {
	if user == "" {
		user = nobody
	}
	now, window := t.attempts.now(), t.attempts.limits.Window
	found, _, err := readCounts(ctx, r, now, window, t.name, t.place, t.own)
	if err != nil {
		return "", 0, err
	}
	if hash, revision, err = Stored(ctx, r, user); err != nil {
		return "", 0, err
	}
	var known addressDocument
	if _, err := store.ReadOne(ctx, r, addressCollection, store.Key{ID: user}, &known); err != nil {
		return "", 0, err
	}
	day, isKnown := known.Addresses[t.address]
	wait := max(found.wait(t.name, now, window), found.wait(t.place, now, window))
	t.counters = []counter{t.name, t.place}
	if isKnown {
		wait, t.counters = found.wait(t.own, now, window), []counter{t.own, t.place}
	}
	t.news = !isKnown || day != now.Unix()/secondsOfDay || found[t.own.record].find(t.own.entry) != nil
	return hash, revision, refused(wait)
}

// nobody is not the id of any user: ids have no control characters.
const nobody = "\x01"

// Fail counts a failure.
func (t *Attempt) Fail(ctx context.Context) error { return t.attempts.fail(ctx, t.counters...) }

// Succeed stores that a user has signed in at the address, and forgets the failures
// that were counted apart for it.
func (t *Attempt) Succeed(ctx context.Context, tx store.Tx, user string) error {
	if !t.news {
		return nil
	}
	if err := t.attempts.forgive(ctx, tx, t.own); err != nil {
		return err
	}
	return putAddress(ctx, tx, user, t.address, t.attempts.now())
}

// CheckCurrent reports whether a password is the current one of a user, which has a hash.
// Wrong ones are counted, with a counter of their own: failed sign-ins, which anybody can
// cause, do not keep users from changing their passwords, and whoever has stolen a token
// does not keep the user from signing in.
func (a *Attempts) CheckCurrent(ctx context.Context, from, user, password, hash string) (bool, error) {
	if password == "" { // which is no guess, and takes as long
		return Check(ctx, from, password, hash)
	}
	// One after the other, so that guesses cannot outrun the count.
	leave, err := a.lines.enter(ctx, "current password\x00"+user, from)
	if err != nil {
		return false, err
	}
	defer leave()
	counter, now := a.current(user), a.now()
	var wait time.Duration
	err = a.store.Read(store.Latest(ctx), func(r store.Snapshot) error {
		found, _, err := readCounts(ctx, r, now, a.limits.Window, counter)
		wait = found.wait(counter, now, a.limits.Window)
		return err
	})
	if err != nil {
		return false, store.Translate(err)
	}
	if err := refused(wait); err != nil {
		return false, err
	}
	right, err := Check(ctx, from, password, hash)
	if err == nil && !right {
		err = a.fail(ctx, counter)
	}
	return right, err
}

// Forgive forgets the failures that a new password of a user makes irrelevant: those of
// the username, and wrong guesses of the current password.
func (a *Attempts) Forgive(ctx context.Context, tx store.Tx, user, username string) error {
	if err := a.forgive(ctx, tx, a.named(countedName(username))); err != nil {
		return err
	}
	return a.forgive(ctx, tx, a.current(user))
}

// named is the counter of a name in the form of countedName.
func (a *Attempts) named(name string) counter { return newCounter(a.limits.Name, "name", name) }

// current counts wrong current passwords of a user.
func (a *Attempts) current(user string) counter { return newCounter(a.limits.Name, "current", user) }

// countedName returns the form of a username under which failures are counted, which is
// the one that identifies the user.
func countedName(username string) string {
	form := schema.UniqueForm{Property: "username", Form: schema.UsernameForm}
	if name, ok := form.Of(username); ok {
		return name
	}
	return username
}

// recordTime is the time limit for storing a failure after its client has left.
const recordTime = 10 * time.Second

// fail counts a failure, also if the client has left, who may have seen enough.
func (a *Attempts) fail(ctx context.Context, counters ...counter) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	now, window := a.now(), a.limits.Window
	return store.Translate(a.store.Write(ctx, func(tx store.Tx) error {
		return changeCounts(ctx, tx, now, window, func(r *countRecord, c counter) { r.add(c.entry, now, window) }, counters...)
	}))
}

// forgive forgets the failures of a counter.
func (a *Attempts) forgive(ctx context.Context, tx store.Tx, c counter) error {
	now, window := a.now(), a.limits.Window
	found, _, err := readCounts(ctx, tx, now, window, c)
	if err != nil || found[c.record].find(c.entry) == nil {
		return err
	}
	return changeCounts(ctx, tx, now, window, func(r *countRecord, c counter) { r.remove(c.entry) }, c)
}

// refused returns the error for a counter whose limit is reached for some time yet.
func refused(wait time.Duration) error {
	if wait <= 0 {
		return nil
	}
	e := message.SignInsFailed.Error(nil)
	e.RetryAfter = (wait + time.Second - 1).Truncate(time.Second)
	return e
}
