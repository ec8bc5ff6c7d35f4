package auth

import (
	"context"
	"encoding/json"
	"net/netip"
	"time"

	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// Password is the password grant. With a network, the user must have a role in it.
// Every failure is message.InvalidGrant, which does not reveal the cause, and is
// counted: message.SignInsFailed if there were too many. Sign-ins with the same name
// are checked one after the other, so that they cannot outrun the count, and each waits
// in line with those from other addresses until the context ends.
func (s *Service) Password(ctx context.Context, address, username, password, network string) (*Tokens, error) {
	from, name := originOf(address), countedName(username)
	leave, err := s.signIns.enter(ctx, name, from)
	if err != nil {
		return nil, err
	}
	defer leave()
	a := s.newAttempt(from, name)
	if err := s.readAttempt(ctx, &a, username); err != nil {
		return nil, err
	}
	if a.wait > 0 {
		return nil, refused(a.wait)
	}
	right, err := CheckPassword(ctx, from, password, a.hash)
	if err != nil {
		return nil, err
	}
	err = message.InvalidGrant.Error(nil)
	var tokens *Tokens
	if right {
		tokens, err = s.signIn(ctx, &a, network)
	}
	switch {
	case message.InvalidGrant.Is(err):
		if failed := s.fail(ctx, a.counters...); failed != nil {
			return nil, failed
		}
		return nil, err
	case err != nil:
		return nil, err
	}
	if needsRehash(a.hash) {
		s.raise(ctx, from, a.user, password, a.hash)
	}
	return tokens, nil
}

// attempt is a sign-in before the password is checked.
type attempt struct {
	name, place, own counter
	address          string

	// user is the id of the user, or "".
	user, hash string
	credential int64
	// wait is how long the sign-in is refused.
	wait time.Duration
	// counters are those that count a failure.
	counters []counter
	// news reports whether a success has to be remembered.
	news bool
}

func (s *Service) newAttempt(from, name string) attempt {
	limits := s.SignIns.orDefault()
	return attempt{name: s.nameCounter(name), place: newCounter(limits.Address, "address", from),
		own: newCounter(limits.Name, "own", name+"\x00"+from), address: hashAddress(from)}
}

// nameCounter is the counter of a name in the form of countedName.
func (s *Service) nameCounter(name string) counter {
	return newCounter(s.SignIns.orDefault().Name, "name", name)
}

// readAttempt reads all that a sign-in depends on. It reads as much for a user that
// does not exist, so that the time reveals nothing.
func (s *Service) readAttempt(ctx context.Context, a *attempt, username string) error {
	now, window := s.now(), s.SignIns.orDefault().Window
	err := s.store.Read(latest(ctx), func(r store.Snapshot) error {
		id, err := findUsername(ctx, r, username)
		if err != nil {
			return err
		}
		a.user = id
		if id == "" {
			id = nobody
		}
		if a.hash, a.credential, err = readHash(ctx, r, id); err != nil {
			return err
		}
		_, addresses, err := readAddresses(ctx, r, id)
		if err != nil {
			return err
		}
		counts, _, err := readAttempts(ctx, r, now, window, a.name, a.place, a.own)
		if err != nil {
			return err
		}
		day, known := addresses.Addresses[a.address]
		if known {
			a.wait, a.counters = counts.wait(a.own, now, window), []counter{a.own, a.place}
		} else {
			a.wait, a.counters = max(counts.wait(a.name, now, window), counts.wait(a.place, now, window)), []counter{a.name, a.place}
		}
		a.news = !known || day != now.Unix()/secondsOfDay || counts[a.own.record].find(a.own.entry) != nil
		return nil
	})
	return store.Translate(err)
}

// nobody is not the id of any user: ids have no control characters.
const nobody = "\x01"

const secondsOfDay = 24 * 60 * 60

// originOf returns the origin of an address: for IPv6, the /64 network, because one
// client can have all of its addresses.
func originOf(address string) string {
	parsed, err := netip.ParseAddr(address)
	if err != nil {
		return "address " + address
	}
	parsed = parsed.Unmap().WithZone("")
	if parsed.Is6() {
		return "address " + netip.PrefixFrom(parsed, 64).Masked().String()
	}
	return "address " + parsed.String()
}

// findUsername returns the id of the user with exactly this name, or else of the only
// user whose name has the same normal form, or "". Names from before normal forms were
// compared can share one.
func findUsername(ctx context.Context, r store.Snapshot, username string) (id string, err error) {
	exact := store.Claim{Collection: "users", Property: "username", Value: string(document.AppendString(nil, username))}
	shared := catalog.FormClaims("users", "", schema.UniqueForm{Property: "username", Form: schema.UsernameForm}, username)
	owners, err := r.Claims(ctx, append(shared, exact))
	if err != nil || owners[exact] != "" {
		return owners[exact], err
	}
	for _, claim := range shared {
		switch owner := owners[claim]; {
		case owner != "" && id != "":
			return "", nil
		case owner != "":
			id = owner
		}
	}
	return id, nil
}

// readHash returns the hash of a user's password and its revision, "" and 0 without
// one.
func readHash(ctx context.Context, r store.Snapshot, id string) (hash string, revision int64, err error) {
	var credential credentialDocument
	err = r.Get(ctx, credentialCollection, []store.Key{{ID: id}}, func(r *store.Record) error {
		revision = r.Revision
		return json.Unmarshal(r.Document, &credential)
	})
	return credential.Hash, revision, err
}
