package auth

import (
	"context"
	"log/slog"

	"marquee/auth/rights"
	"marquee/engine/event"
	"marquee/engine/message"
	"marquee/engine/rest"
	"marquee/engine/store"
)

// userNamed answers with the id of the user who can sign in with the username.
func (s *Service) userNamed(r *rest.Call) error {
	if err := r.Parameters().Only("username"); err != nil {
		return err
	}
	username := r.Parameters()["username"]
	id := ""
	err := s.config.Store.Read(store.Latest(r.Context()), func(sn store.Snapshot) (err error) {
		id, err = rights.UserNamed(r.Context(), sn, username)
		return err
	})
	if err != nil {
		return store.Translate(err)
	}
	if id == "" {
		return message.ObjectNotFound.Error(message.Params{"type": "users", "id": username})
	}
	return r.AnswerJSON(map[string]string{"id": id})
}

func (s *Service) listKeys(r *rest.Call) error {
	if err := r.Parameters().Only(); err != nil {
		return err
	}
	return s.answerKeys(r)
}

func (s *Service) answerKeys(r *rest.Call) error {
	keys, err := s.Keys.List(store.Latest(r.Context()))
	if err != nil {
		return err
	}
	return r.AnswerJSON(map[string]any{"keys": keys})
}

// changeKeys returns what serves a change of the signing keys, and answers with them.
func (s *Service) changeKeys(change func(context.Context) error, done string) func(*rest.Call) error {
	return func(r *rest.Call) error {
		if err := r.Parameters().Only(); err != nil {
			return err
		}
		if _, err := r.ReadBody(1 << 10); err != nil {
			return err
		}
		if err := change(r.Context()); err != nil {
			return err
		}
		r.Log().LogAttrs(r.Context(), slog.LevelWarn, done, event.SigningKeyRotated.Attr())
		return s.answerKeys(r)
	}
}
