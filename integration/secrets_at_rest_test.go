package integration

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// TestSecretsAtRest looks past the service at the bytes that the store keeps:
// passwords are there as Argon2id with OWASP's parameters, refresh tokens as
// hashes, and API keys encrypted, also those that have been replaced.
func TestSecretsAtRest(t *testing.T) { eachStore(t, testSecretsAtRest) }

func testSecretsAtRest(t *testing.T, fresh newStore) {
	c := converse(t, fresh)
	token := func(body string) string {
		t.Helper()
		object, _ := c.send("POST", "/api/authenticate", body, 200, "").json().(map[string]any)
		text, _ := object["refresh_token"].(string)
		return text
	}
	used := token(`{"grant_type": "password", "username": "admin", "password": "` + adminPassword + `"}`)
	secrets := []string{adminPassword, used, token(`{"grant_type": "refresh_token", "refresh_token": "` + used + `"}`)}
	for _, key := range []string{"the first API key", "the second API key"} {
		c.send("POST", "/api/v1/contextserviceconnections?context=main", `[{"id": "c", "name": "a name in plain text", "contextService": "X", "username": "u", "apiKey": "`+key+`"}]`, 200, "")
		secrets = append(secrets, key)
	}
	for _, password := range []string{"the first password", "the second password"} {
		c.send("POST", "/api/v1/users?context=main", `[{"id": "kari", "username": "kari", "password": "`+password+`", "userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "administrator"}]}]}}]`, 200, "")
		secrets = append(secrets, password)
	}
	bytesAtRest := atRest(t, c.s.uri)
	for _, shown := range []string{"a name in plain text", "$argon2id$v=19$m=19456,t=2,p=1$"} {
		if !bytes.Contains(bytesAtRest, []byte(shown)) {
			t.Errorf("the store does not hold %q", shown)
		}
	}
	for _, secret := range secrets {
		if secret == "" || bytes.Contains(bytesAtRest, []byte(secret)) {
			t.Errorf("the store holds %q", secret)
		}
	}
}

// atRest is all that a store keeps.
func atRest(t *testing.T, uri string) []byte {
	t.Helper()
	var all []byte
	if path, ok := strings.CutPrefix(uri, "sqlite:"); ok {
		files, err := filepath.Glob(path + "*")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, content...)
		}
		return all
	}
	ctx := context.Background()
	db, err := connectDatabase(uri)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Client().Disconnect(ctx)
	names, err := db.ListCollectionNames(ctx, bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		cursor, err := db.Collection(name).Find(ctx, bson.D{})
		if err != nil {
			t.Fatal(err)
		}
		for cursor.Next(ctx) {
			all = append(all, cursor.Current...)
		}
		if err := cursor.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}
