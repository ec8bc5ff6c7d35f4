package auth

import (
	"context"
	"encoding/json"
	"time"
	"unicode/utf8"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/store"
)

// credentialDocument is a user's stored password. It is not part of the user, so
// that no request can read it.
type credentialDocument struct {
	Hash string `json:"hash"`
}

// prepared is the result of prepareUser.
type prepared struct {
	// hash is the hash of a new password, or "".
	hash string
	// proved reports whether the user has sent the current password, whose revision
	// was credential.
	proved     bool
	credential int64
}

// prepareUser compares and hashes passwords, before the transaction because that is
// slow. Its duration reveals nothing to callers without permission to set the
// password.
//
// Setting a password to its current value changes nothing. Users who change their own
// password or name must send their current password, so that a stolen token does not
// suffice.
func (s *Service) prepareUser(ctx context.Context, c *engine.Change) error {
	password, set := c.Patch["password"].(string)
	if n := utf8.RuneCountInString(password); n < s.Passwords.minLength() || n > maxPassword {
		set = false // absent, or refused by the policy or the schema
	}
	own := c.Caller.Is(c.ID) && !c.Caller.System
	name, named := c.Patch["username"].(string)
	if _, sent := c.Patch["password"]; sent && c.Caller.Token != nil {
		return message.UserRequired.Error(message.Params{"field": "/password"})
	}
	if !set && !(own && named) {
		return nil
	}
	from := "user " + c.Caller.User
	var user map[string]any
	var hash string
	var p prepared
	managed := true
	err := s.store.Read(ctx, func(r store.Snapshot) (err error) {
		user, err = storedUser(ctx, r, c.ID)
		if err != nil || user == nil {
			return err
		}
		if hash, p.credential, err = readHash(ctx, r, c.ID); err != nil {
			return err
		}
		if own || c.Caller.System {
			return nil
		}
		managed, err = manageable(c.Caller, user, func(network, id string) (*roleDocument, error) {
			return storedRole(ctx, r, network, id)
		})
		return err
	})
	if err != nil {
		return err
	}
	switch {
	case user == nil:
	case own:
		if !set && user["username"] == name {
			return nil
		}
		if err := s.checkCurrent(ctx, c, from, hash); err != nil {
			return err
		}
		p.proved = true
	case !managed:
		return message.UserNotManaged.Error(message.Params{"field": "/password"})
	}
	if set {
		if p.hash, err = newHash(ctx, from, password, hash); err != nil {
			return err
		}
	}
	c.Kept = p
	return nil
}

// storedUser returns the document of a user, or nil if there is none.
func storedUser(ctx context.Context, r store.Snapshot, id string) (user map[string]any, err error) {
	err = r.Get(ctx, "users", []store.Key{{ID: id}}, func(r *store.Record) (err error) {
		user, err = document.DecodeObject(r.Document, document.Limits{Depth: 1000})
		return err
	})
	return user, err
}

// checkCurrent returns an error unless a change of the caller's own user has the
// password with a hash as its currentPassword. Wrong ones are counted, with a counter
// of their own: failed sign-ins, which anybody can cause, do not keep users from
// changing their passwords, and whoever has stolen a token does not keep the user from
// signing in.
func (s *Service) checkCurrent(ctx context.Context, c *engine.Change, from, hash string) error {
	wrong := &message.Error{Kind: message.Invalid, Messages: []message.Message{
		c.Fault(message.CurrentPasswordWrong, "/currentPassword", nil)}}
	current, _ := c.Patch["currentPassword"].(string)
	if current == "" { // which is no guess, and takes as long
		if _, err := CheckPassword(ctx, from, current, hash); err != nil {
			return err
		}
		return wrong
	}
	// One after the other, so that guesses cannot outrun the count.
	leave, err := s.signIns.enter(ctx, "current password\x00"+c.ID, from)
	if err != nil {
		return err
	}
	defer leave()
	counter, now, window := s.currentCounter(c.ID), s.now(), s.SignIns.orDefault().Window
	var wait time.Duration
	err = s.store.Read(latest(ctx), func(r store.Snapshot) error {
		counts, _, err := readAttempts(ctx, r, now, window, counter)
		wait = counts.wait(counter, now, window)
		return err
	})
	switch {
	case err != nil:
		return store.Translate(err)
	case wait > 0:
		return refused(wait)
	}
	right, err := CheckPassword(ctx, from, current, hash)
	if err != nil || right {
		return err
	}
	if err := s.fail(ctx, counter); err != nil {
		return err
	}
	return wrong
}

// currentCounter counts wrong currentPasswords of a user.
func (s *Service) currentCounter(user string) counter {
	return newCounter(s.SignIns.orDefault().Name, "current", user)
}

// newHash returns the hash of a password, or "" if it equals the stored one.
func newHash(ctx context.Context, from, password, stored string) (string, error) {
	if stored != "" {
		if same, err := CheckPassword(ctx, from, password, stored); same || err != nil {
			return "", err
		}
	}
	return HashPassword(ctx, from, password)
}

// checkProved rejects a change of the caller's own name if another write has replaced
// the password that was sent as the current one.
func checkProved(ctx context.Context, w *engine.Writing, c *engine.Change) error {
	p, _ := c.Kept.(prepared)
	if !p.proved {
		if _, named := c.After["username"].(string); named && c.Before["username"] != c.After["username"] {
			return message.ConflictUnresolved.Error(nil)
		}
		return nil
	}
	_, credential, err := readHash(ctx, w.Tx(), c.ID)
	if err == nil && credential != p.credential {
		err = message.ConflictUnresolved.Error(nil)
	}
	return err
}

func touchPassword(c *engine.Change) {
	if p, _ := c.Kept.(prepared); p.hash != "" {
		c.Touch("password")
	}
}

func (s *Service) usersBeforeStore(ctx context.Context, w *engine.Writing, changes []*engine.Change) error {
	if err := guardUsers(ctx, w, changes); err != nil {
		return err
	}
	return engine.Each(s.userBeforeStore)(ctx, w, changes)
}

// userBeforeStore stores a new password, whose revision invalidates the user's tokens.
// Failed sign-ins, and wrong currentPasswords, no longer count.
func (s *Service) userBeforeStore(ctx context.Context, w *engine.Writing, c *engine.Change) error {
	p, _ := c.Kept.(prepared)
	if p.hash == "" {
		return nil
	}
	content, err := json.Marshal(credentialDocument{p.hash})
	if err != nil {
		return err
	}
	was := store.Record{Key: store.Key{ID: c.ID}}
	err = w.Tx().Get(ctx, credentialCollection, []store.Key{was.Key}, func(r *store.Record) error {
		was = *r
		return nil
	})
	if err != nil {
		return err
	}
	err = w.Tx().Put(ctx, credentialCollection, []store.Write{store.InternalWrite(was, "ACTIVE", content, w.Now())})
	if err != nil {
		return err
	}
	username, _ := c.After["username"].(string)
	if err := s.forgive(ctx, w.Tx(), s.nameCounter(countedName(username))); err != nil {
		return err
	}
	return s.forgive(ctx, w.Tx(), s.currentCounter(c.ID))
}

// raise replaces a hash that was computed with earlier parameters by one with those of
// HashPassword. The revision of the password stays, so that sessions go on. If it
// fails, the next sign-in tries again.
func (s *Service) raise(ctx context.Context, from, id, password, stored string) {
	hash, err := HashPassword(ctx, from, password)
	if err != nil {
		return
	}
	content, err := json.Marshal(credentialDocument{hash})
	if err != nil {
		return
	}
	_ = s.store.Write(ctx, func(tx store.Tx) error {
		var record store.Record
		var present credentialDocument
		err := tx.Get(ctx, credentialCollection, []store.Key{{ID: id}}, func(r *store.Record) error {
			record = *r
			return json.Unmarshal(r.Document, &present)
		})
		if err != nil || present.Hash != stored { // replaced meanwhile
			return err
		}
		record.Document, record.Warnings = content, nil
		return tx.Rewrite(ctx, credentialCollection, []store.Record{record})
	})
}
