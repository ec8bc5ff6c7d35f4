package rights

import (
	"context"

	"marquee/auth/password"
	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/store"
)

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
func (r *Rules) prepareUser(ctx context.Context, c *engine.Change) error {
	text, _ := c.Patch["password"].(string)
	set := r.Passwords.HasLength(text) // otherwise absent, or refused by the policy or the schema
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
	err := r.Store.Read(ctx, func(s store.Snapshot) (err error) {
		user, err = storedUser(ctx, s, c.ID)
		if err != nil || user == nil {
			return err
		}
		if hash, p.credential, err = password.Stored(ctx, s, c.ID); err != nil {
			return err
		}
		if own || c.Caller.System {
			return nil
		}
		managed, err = managesStored(ctx, s, c.Caller, user, r.BuiltIn)
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
		current, _ := c.Patch["currentPassword"].(string)
		right, err := r.Attempts.CheckCurrent(ctx, from, c.ID, current, hash)
		if err != nil {
			return err
		}
		if !right {
			return &message.Error{Kind: message.Invalid, Messages: []message.Message{c.Fault(message.CurrentPasswordWrong, "/currentPassword", nil)}}
		}
		p.proved = true
	case !managed:
		return message.UserNotManaged.Error(message.Params{"field": "/password"})
	}
	if set {
		if p.hash, err = newHash(ctx, from, text, hash); err != nil {
			return err
		}
	}
	c.Kept = p
	return nil
}

// newHash returns the hash of a password, or "" if it equals the stored one.
func newHash(ctx context.Context, from, text, stored string) (string, error) {
	if stored != "" {
		if same, err := password.Check(ctx, from, text, stored); same || err != nil {
			return "", err
		}
	}
	return password.Hash(ctx, from, text)
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
	_, credential, err := password.Stored(ctx, w.Tx(), c.ID)
	if err == nil && credential != p.credential {
		err = message.ConflictUnresolved.Error(nil)
	}
	return err
}

// PasswordReplaced reports whether a write has replaced the password of a user, which ends all
// sessions of that user.
func PasswordReplaced(c *engine.Change) bool {
	p, _ := c.Kept.(prepared)
	return p.hash != "" && !c.Created()
}

func touchPassword(c *engine.Change) {
	if p, _ := c.Kept.(prepared); p.hash != "" {
		c.Touch("password")
	}
}

// storePassword stores a new password, whose revision invalidates the user's tokens.
// Failed sign-ins, and wrong currentPasswords, no longer count.
func (r *Rules) storePassword(ctx context.Context, w *engine.Writing, c *engine.Change) error {
	p, _ := c.Kept.(prepared)
	if p.hash == "" {
		return nil
	}
	if err := password.Put(ctx, w.Tx(), c.ID, p.hash, w.Now()); err != nil {
		return err
	}
	username, _ := c.After["username"].(string)
	return r.Attempts.Forgive(ctx, w.Tx(), c.ID, username)
}

// dropPassword removes the password of a user who is erased, so that nobody can sign in with
// it if the user gets a name again, and what is counted by the username.
func (r *Rules) dropPassword(ctx context.Context, w *engine.Writing, c *engine.Change) error {
	if err := password.Put(ctx, w.Tx(), c.ID, "", w.Now()); err != nil {
		return err
	}
	username, _ := c.Before["username"].(string)
	return r.Attempts.Forgive(ctx, w.Tx(), c.ID, username)
}

// checkPolicy refuses a new password that breaks the policy.
func (r *Rules) checkPolicy(c *engine.Change) {
	text, set := c.Patch["password"].(string)
	if !set || c.Internal() {
		return
	}
	username, _ := c.After["username"].(string)
	if rule, params := r.Passwords.Broken(text, username); rule != nil {
		c.Refuse(rule, "/password", params)
	}
}

// MaySetPassword returns an error unless a caller may set a user's password. A user
// who is hidden from the caller does not exist.
func MaySetPassword(ctx context.Context, e *engine.Engine, caller *engine.Caller, id string) error {
	managed, visible := false, false
	err := e.Store.Read(ctx, func(r store.Snapshot) error {
		managed, visible = false, false
		user, err := storedUser(ctx, r, id)
		if err != nil || user == nil {
			return err
		}
		if managed, err = managesStored(ctx, r, caller, user, e.Registry().BuiltInPermissions()); err != nil {
			return err
		}
		users, _ := e.Registry().Type("users")
		n, err := r.Count(ctx, query.Query{Collection: "users", Where: query.And{
			query.Compare{Field: byID, Op: query.Equal, Value: id}, e.Access.Visible(caller, users, "")}})
		visible = n > 0
		return err
	})
	switch {
	case err != nil:
		return store.Translate(err)
	case !visible:
		return message.ObjectNotFound.Error(message.Params{"type": "users", "id": id})
	case !managed:
		return message.UserNotManaged.Error(message.Params{"type": "users", "objectId": id})
	}
	return nil
}
