package auth

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"marquee/engine/message"
	"marquee/engine/rest"
	"marquee/engine/store"
)

// operatorRoutes returns the routes that only the operator has: what the commands of
// the program need besides the API.
func (s *Service) operatorRoutes() []rest.Route {
	return []rest.Route{
		{Path: "/operator/user", Methods: []string{http.MethodGet}, Operator: true, Serve: s.userNamed},
		{Path: "/operator/keys", Methods: []string{http.MethodGet}, Operator: true, Serve: s.listKeys},
		{Path: "/operator/keys/rotate", Methods: []string{http.MethodPost}, Operator: true, Serve: s.changeKeys(s.RotateKeys, "the signing keys were rotated")},
		{Path: "/operator/keys/replace", Methods: []string{http.MethodPost}, Operator: true, Serve: s.changeKeys(s.ReplaceKeys, "the signing keys were replaced; all access tokens are invalid")},
	}
}

// userNamed answers with the id of the user who can sign in with the username.
func (s *Service) userNamed(r *rest.Call) error {
	if err := r.Only("username"); err != nil {
		return err
	}
	username, _ := r.Parameter("username")
	id := ""
	err := s.store.Read(latest(r.Context()), func(sn store.Snapshot) (err error) {
		id, err = findUsername(r.Context(), sn, username)
		return err
	})
	if err != nil {
		return store.Translate(err)
	}
	if id == "" {
		return message.ObjectNotFound.Error(message.Params{"type": "users", "id": username})
	}
	return answerJSON(r, map[string]string{"id": id})
}

// SigningKey describes a key that signs access tokens.
type SigningKey struct {
	ID         string    `json:"id"`
	CreateTime time.Time `json:"createTime"`
	// SignsFrom is when the key begins to sign; nil if no rotation has decided it.
	SignsFrom *time.Time `json:"signsFrom,omitempty"`
	// State is RETIRING for a key that signs no more but whose tokens are valid,
	// SIGNING for the one that signs, and NEXT for those that will sign.
	State string `json:"state"`
}

// SigningKeys returns the keys whose tokens are accepted, in the order in which they
// sign.
func (s *Service) SigningKeys(ctx context.Context) ([]SigningKey, error) {
	set, err := s.keys.current(ctx)
	if err != nil {
		return nil, store.Translate(err)
	}
	now := s.now()
	set = set.valid(now, s.lifetimes.Access)
	signer, state := set.signer(now), "RETIRING"
	keys := []SigningKey{}
	for _, key := range set {
		described := SigningKey{ID: key.id, CreateTime: key.created.UTC(), State: state}
		if key == signer {
			described.State, state = "SIGNING", "NEXT"
		}
		if !key.from.IsZero() {
			from := key.from.UTC().Truncate(time.Millisecond)
			described.SignsFrom = &from
		}
		keys = append(keys, described)
	}
	return keys, nil
}

func (s *Service) listKeys(r *rest.Call) error {
	if err := r.Only(); err != nil {
		return err
	}
	return s.answerKeys(r)
}

func (s *Service) answerKeys(r *rest.Call) error {
	keys, err := s.SigningKeys(latest(r.Context()))
	if err != nil {
		return err
	}
	return answerJSON(r, map[string]any{"keys": keys})
}

// changeKeys returns what serves a change of the signing keys, and answers with them.
func (s *Service) changeKeys(change func(context.Context) error, done string) func(*rest.Call) error {
	return func(r *rest.Call) error {
		if err := r.Only(); err != nil {
			return err
		}
		if _, err := r.ReadBody(1 << 10); err != nil {
			return err
		}
		if err := change(r.Context()); err != nil {
			return err
		}
		r.Log().Warn(done)
		return s.answerKeys(r)
	}
}

func answerJSON(r *rest.Call, value any) error {
	body, err := json.Marshal(value)
	if err == nil {
		r.Answer(http.StatusOK, body)
	}
	return err
}
