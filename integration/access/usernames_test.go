package access

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"marquee/engine/catalog"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/engine/verify"
	"marquee/integration/process"
	"marquee/integration/service"
)

// TestUsernamesFromBefore: names that were stored before they were compared in
// their form sign in as they are written, stay as they are until they change,
// are not given to others, and are listed.
func TestUsernamesFromBefore(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testUsernamesFromBefore)
}

func testUsernamesFromBefore(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	before := map[string]string{"u1": "Kari", "u2": "kari", "u3": "KARI", "u4": "Kari Nordmann", "u5": "Ola"}
	for id := range before {
		c.Send("PUT", "/api/v1/users/"+id, fmt.Sprintf(`{"username": "%s", "password": "password of %s"}`, id, id), 201, "")
	}
	if err := withoutForms(c.Service, before); err != nil {
		t.Fatal(err)
	}
	c.Service.Stop()
	key, err := os.ReadFile(c.Service.Key)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"check", "--store", c.Service.URI, "--secret-key", strings.TrimSpace(string(key))}
	out, said := process.Answer(t, 1, nil, args...)
	process.Wants(t, said, "faults")
	process.Wants(t, out, `users "u1": username "Kari" is, in the form UsernameCaseMapped, that of `, `users "u4": username "Kari Nordmann" does not conform to UsernameCaseMapped`)
	process.Shuns(t, out, "Ola")
	c.Service.Start()
	signIn := func(username, id string, status int) {
		t.Helper()
		form := url.Values{"grant_type": {"password"}, "username": {username}, "password": {"password of " + id}}
		a, err := c.Service.Send("POST", "/api/authenticate", http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, strings.NewReader(form.Encode()))
		if err != nil || a.Status != status {
			t.Errorf("%s signs in as %s: %d, %v", username, id, a.Status, err)
		}
	}
	for id, name := range before {
		signIn(name, id, 200)
	}
	signIn("ola", "u5", 200)
	for id := range before { // nobody knows whose name this is
		signIn("kARI", id, 400)
	}
	signIn("kari nordmann", "u4", 400)

	var listed []string
	err = verify.CheckForms(t.Context(), c.Service.Engine.Catalog, func(n verify.Nonconforming) error {
		slices.Sort(n.Others)
		listed = append(listed, fmt.Sprint(n.ID, n.Value, n.Others))
		return nil
	})
	if want := "[u1Kari[u2 u3] u2kari[u1 u3] u3KARI[u1 u2] u4Kari Nordmann[]]"; err != nil || fmt.Sprint(listed) != want {
		t.Errorf("%v, %v", listed, err)
	}

	// What is not changed is not checked.
	for id := range before {
		c.Send("PUT", "/api/v1/users/"+id, fmt.Sprintf(`{"displayName": "D", "username": "%s"}`, before[id]), 200, "")
	}
	taken := `{"messages": [{"code": "error.value.not.unique", "params": {"field": "/username"}}]}`
	c.Send("PUT", "/api/v1/users/new", `{"username": "kArI"}`, 422, taken)
	c.Send("PUT", "/api/v1/users/new", `{"username": "OLA"}`, 422, taken)
	c.Send("PUT", "/api/v1/users/u2", `{"username": "KaRi"}`, 422, taken)
	c.Send("PUT", "/api/v1/users/u4", `{"username": "kari nordmann"}`, 422, `{"messages": [{"code": "error.value.form"}]}`)
	// The name is free when the last of them has given it up.
	for _, id := range []string{"u1", "u3"} {
		c.Send("PUT", "/api/v1/users/"+id, fmt.Sprintf(`{"username": "free-%s"}`, id), 200, "")
		c.Send("PUT", "/api/v1/users/new", `{"username": "kArI"}`, 422, taken)
	}
	signIn("kARI", "u2", 200)
	c.Send("PUT", "/api/v1/users/u2", `{"username": "free-u2"}`, 200, "")
	c.Send("PUT", "/api/v1/users/new", `{"username": "kArI"}`, 201, "")
	c.Send("PUT", "/api/v1/users/u4", `{"username": "nordmann"}`, 200, "")
	c.Service.Stop()
	if out, _ = process.Answer(t, 0, nil, append(args, "--repair", "--quiet")...); out != "nothing is wrong\n" { // a slow start says on stderr what it does
		t.Errorf("%s%s", out, said)
	}
	c.Service.Start()
}

// withoutForms leaves the store as one in which names had no forms, and gives
// users names, by their ids.
func withoutForms(s *service.Service, names map[string]string) error {
	form := schema.UniqueForm{Property: "username", Form: schema.UsernameForm}
	exact := func(name string) store.Claim {
		return store.Claim{Collection: "users", Property: "username", Value: fmt.Sprintf("%q", name)}
	}
	ctx := context.Background()
	return s.Store.Write(ctx, func(tx store.Tx) error {
		var writes []store.Write
		rewrite := func(r *store.Record, from, to string) store.Write {
			w := store.Write{Record: *r, Expected: r.Revision}
			w.Document = bytes.ReplaceAll(r.Document, []byte(from), []byte(to))
			return w
		}
		var keys []store.Key
		for id := range names {
			keys = append(keys, store.Key{ID: id})
		}
		err := tx.Get(ctx, "users", keys, func(r *store.Record) error {
			w := rewrite(r, `"username":"`+r.ID+`"`, `"username":"`+names[r.ID]+`"`)
			w.DropClaims = []store.Claim{exact(r.ID), catalog.FormClaims("users", "", form, r.ID)[0]}
			w.AddClaims = []store.Claim{exact(names[r.ID])}
			writes = append(writes, w)
			return nil
		})
		if err != nil {
			return err
		}
		var noted []store.Write
		err = tx.Get(ctx, "engine_types", []store.Key{{ID: "users"}}, func(r *store.Record) error {
			w := rewrite(r, `"username","`+form.Key()+`"`, `"username"`)
			if bytes.Equal(w.Document, r.Document) {
				return fmt.Errorf("forms are not noted: %s", r.Document)
			}
			noted = append(noted, w)
			return nil
		})
		if err != nil {
			return err
		}
		if err := tx.Put(ctx, "users", writes); err != nil {
			return err
		}
		return tx.Put(ctx, "engine_types", noted)
	})
}
