package auth

import (
	"context"
	"encoding/json"

	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/store"
)

// credentialDocument is a user's password as it is stored, apart from the
// user: it can never be read through the API.
type credentialDocument struct {
	Hash string `json:"hash"`
}

// newPassword is what preparePassword found to be set.
type newPassword struct{ hash string }

// preparePassword hashes a posted password, before the transaction because it
// is slow. The password that the user has already changes nothing. A user who
// changes his own must name it.
func (s *Service) preparePassword(ctx context.Context, c *engine.Change) error {
	password, ok := c.Patch["password"].(string)
	if !ok || len(password) < 8 || len(password) > 1024 {
		return nil // absent, or a fault that the schema finds
	}
	// Nobody has passwords hashed, or compared, whom the transaction will refuse.
	if err := (Access{}).MayWrite(c.Caller, c.Type, c.Context, c.ID, true); err != nil {
		return err
	}
	var hash string
	err := s.store.Read(ctx, func(r store.Snapshot) error {
		var err error
		hash, _, err = readHash(ctx, r, c.ID)
		return err
	})
	if err != nil {
		return err
	}
	if hash != "" {
		if CheckPassword(password, hash) {
			return nil
		}
		current, _ := c.Patch["currentPassword"].(string)
		if c.ID == c.Caller.User && !c.Caller.System && !CheckPassword(current, hash) {
			return &message.Error{Kind: message.Invalid, Messages: []message.Message{
				c.Fault(message.CurrentPasswordWrong, "/currentPassword", nil)}}
		}
	}
	c.Kept = newPassword{HashPassword(password)}
	return nil
}

func (s *Service) touchPassword(c *engine.Change) {
	if c.Kept != nil {
		c.Touch("password")
	}
}

// userWritten stores a new password; its new version ends the user's tokens.
func (s *Service) userWritten(ctx context.Context, w *engine.Writing, c *engine.Change) error {
	password, ok := c.Kept.(newPassword)
	if !ok {
		return nil
	}
	content, err := json.Marshal(credentialDocument{password.hash})
	if err != nil {
		return err
	}
	key := store.Key{ID: c.ID}
	write := store.Write{Record: store.Record{Key: key, State: "ACTIVE", CreateTime: w.Now(), UpdateTime: w.Now(), Document: content}}
	err = w.Tx().Get(ctx, credentialCollection, []store.Key{key}, func(r *store.Record) error {
		write.Expected, write.CreateTime = r.Version, r.CreateTime
		return nil
	})
	if err != nil {
		return err
	}
	write.Version = write.Expected + 1
	return w.Tx().Put(ctx, credentialCollection, []store.Write{write})
}
