package access

import (
	"bytes"
	"testing"

	"marquee/integration/service"
)

// TestSecretsAtRest looks past the service at the bytes that the store keeps:
// passwords are there as Argon2id with OWASP's parameters, refresh tokens as
// hashes, and API keys encrypted, also those that have been replaced.
func TestSecretsAtRest(t *testing.T) { service.EachStore(t, testSecretsAtRest) }

func testSecretsAtRest(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	token := func(body string) string {
		t.Helper()
		object, _ := c.Send("POST", "/api/authenticate", body, 200, "").JSON().(map[string]any)
		text, _ := object["refresh_token"].(string)
		return text
	}
	used := token(`{"grant_type": "password", "username": "admin", "password": "` + service.AdminPassword + `"}`)
	secrets := []string{service.AdminPassword, used, token(`{"grant_type": "refresh_token", "refresh_token": "` + used + `"}`)}
	for _, key := range []string{"the first API key", "the second API key"} {
		c.Send("POST", "/api/v1/contextserviceconnections?context=main", `[{"id": "c", "name": "a name in plain text", "contextService": "X", "username": "u", "apiKey": "`+key+`"}]`, 200, "")
		secrets = append(secrets, key)
	}
	for _, password := range []string{"the first password", "the second password"} {
		c.Send("POST", "/api/v1/users?context=main", `[{"id": "kari", "username": "kari", "password": "`+password+`", "userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "administrator"}]}]}}]`, 200, "")
		secrets = append(secrets, password)
	}
	bytesAtRest := service.AtRest(t, c.Service.URI)
	hash := "$argon2id$v=19$m=19456,t=2,p=1$"
	if testing.Short() { // when hashes are cheap
		hash = "$argon2id$v=19$m="
	}
	for _, shown := range []string{"a name in plain text", hash} {
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
