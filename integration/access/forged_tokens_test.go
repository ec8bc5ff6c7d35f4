package access

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"marquee/integration/process"
	"marquee/integration/service"
)

// forger has what everybody can get: a token of somebody's own, and the public
// keys of the service.
type forger struct {
	t              *testing.T
	header, claims map[string]any
	parts          []string // of the token
	public         ed25519.PublicKey
	jwk            string
}

func newForger(t *testing.T, s *service.Service, token string) *forger {
	t.Helper()
	f := &forger{t: t, parts: strings.Split(token, ".")}
	for i, into := range []*map[string]any{&f.header, &f.claims} {
		text, err := base64.RawURLEncoding.DecodeString(f.parts[i])
		if err != nil || json.Unmarshal(text, into) != nil {
			t.Fatalf("the token %s: %v", text, err)
		}
	}
	var set struct{ Keys []map[string]string }
	a, err := s.Send(http.MethodGet, "/.well-known/jwks.json", http.Header{}, nil)
	if err != nil || json.Unmarshal(a.Body, &set) != nil {
		t.Fatalf("%v %s", err, a.Body)
	}
	for _, key := range set.Keys {
		if key["kid"] == f.header["kid"] {
			f.jwk = key["x"]
			f.public, err = base64.RawURLEncoding.DecodeString(key["x"])
		}
	}
	if err != nil || len(f.public) != ed25519.PublicKeySize {
		t.Fatalf("the key of the token is not published: %s", a.Body)
	}
	return f
}

// encoded is a part of a token, which json.Marshal would order.
func encoded(members map[string]any) string {
	text, err := json.Marshal(members)
	if err != nil {
		panic(err)
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// with is a copy that has other members; nil removes one.
func with(members map[string]any, more ...any) map[string]any {
	changed := maps.Clone(members)
	for i := 0; i < len(more); i += 2 {
		if changed[more[i].(string)] = more[i+1]; more[i+1] == nil {
			delete(changed, more[i].(string))
		}
	}
	return changed
}

// signedBy makes a token with a key of the forger's.
func (f *forger) signedBy(method jwt.SigningMethod, key any, header, claims map[string]any) string {
	token := jwt.NewWithClaims(method, jwt.MapClaims(claims))
	maps.Copy(token.Header, with(header, "alg", method.Alg()))
	text, err := token.SignedString(key)
	if err != nil {
		f.t.Fatal(err)
	}
	return text
}

func (f *forger) hmac(header map[string]any, key []byte) string {
	signed := encoded(header) + "." + encoded(f.claims)
	sum := hmac.New(sha256.New, key)
	sum.Write([]byte(signed))
	return signed + "." + base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
}

// forged are tokens that somebody can make of these.
func (f *forger) forged() map[string]string {
	must := func(err error) {
		if err != nil {
			f.t.Fatal(err)
		}
	}
	_, own, err := ed25519.GenerateKey(rand.Reader)
	must(err)
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	must(err)
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	der, err := x509.MarshalPKIXPublicKey(f.public)
	must(err)
	ownJWK := map[string]any{"kty": "OKP", "crv": "Ed25519", "x": base64.RawURLEncoding.EncodeToString(own.Public().(ed25519.PublicKey)), "kid": f.header["kid"]}
	none := func(alg string) string {
		return encoded(with(f.header, "alg", alg)) + "." + encoded(f.claims) + "."
	}
	hs := with(f.header, "alg", "HS256")
	whole := strings.Join(f.parts, ".")
	tokens := map[string]string{
		"none": none("none"), "None": none("None"), "nOnE": none("nOnE"), "an empty algorithm": none(""),
		"none with the signature":         none("none") + f.parts[2],
		"no algorithm":                    encoded(with(f.header, "alg", nil)) + "." + f.parts[1] + "." + f.parts[2],
		"HS256 of the public key":         f.hmac(hs, f.public),
		"HS256 of its text":               f.hmac(hs, []byte(f.jwk)),
		"HS256 of its PEM":                f.hmac(hs, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})),
		"HS256 of its DER":                f.hmac(hs, der),
		"HS256 of nothing":                f.hmac(hs, nil),
		"RS256":                           f.signedBy(jwt.SigningMethodRS256, rsaKey, f.header, f.claims),
		"ES256":                           f.signedBy(jwt.SigningMethodES256, ecKey, f.header, f.claims),
		"another key":                     f.signedBy(jwt.SigningMethodEdDSA, own, f.header, f.claims),
		"another key, without kid":        f.signedBy(jwt.SigningMethodEdDSA, own, with(f.header, "kid", nil), f.claims),
		"a key in the header":             f.signedBy(jwt.SigningMethodEdDSA, own, with(f.header, "jwk", ownJWK), f.claims),
		"a key at an address":             f.signedBy(jwt.SigningMethodEdDSA, own, with(f.header, "jku", "http://127.0.0.1:1/keys", "x5u", "http://127.0.0.1:1/"), f.claims),
		"the header changed":              encoded(with(f.header, "typ", "at+jwt")) + "." + f.parts[1] + "." + f.parts[2],
		"the claims changed":              f.parts[0] + "." + encoded(with(f.claims, "exp", 4e9)) + "." + f.parts[2],
		"another user":                    f.parts[0] + "." + encoded(with(f.claims, "sub", "other")) + "." + f.parts[2],
		"another user, signed":            f.signedBy(jwt.SigningMethodEdDSA, own, f.header, with(f.claims, "sub", "other")),
		"critical":                        encoded(with(f.header, "crit", []string{"exp"})) + "." + f.parts[1] + "." + f.parts[2],
		"no signature":                    f.parts[0] + "." + f.parts[1] + ".",
		"no third part":                   f.parts[0] + "." + f.parts[1],
		"a fourth part":                   whole + "." + f.parts[2],
		"no claims":                       f.parts[0] + ".." + f.parts[2],
		"the parts in another order":      f.parts[1] + "." + f.parts[0] + "." + f.parts[2],
		"a signature of zeros":            f.parts[0] + "." + f.parts[1] + "." + base64.RawURLEncoding.EncodeToString(make([]byte, 64)),
		"JSON":                            `{"payload":"` + f.parts[1] + `","signatures":[]}`,
		"encrypted":                       f.parts[0] + "." + f.parts[1] + "." + f.parts[2] + "." + f.parts[1] + "." + f.parts[2],
		"in capital letters":              strings.ToUpper(whole),
		"with padding":                    whole + "=",
		"in quotes":                       `"` + whole + `"`,
		"twice":                           whole + "," + whole,
		"twice with a space":              whole + " " + whole,
		"a token that is a refresh token": f.jwk,
	}
	for i, kid := range []any{"", "nobody", "../../../../dev/null", "/dev/null", "x' OR '1'='1", "x\x00", 1, nil, []string{"x"}, map[string]any{"$ne": ""}, strings.Repeat("k", 5000)} {
		tokens[fmt.Sprintf("kid %d", i)] = f.signedBy(jwt.SigningMethodEdDSA, own, with(f.header, "kid", kid), f.claims)
		tokens[fmt.Sprintf("kid %d with HS256", i)] = f.hmac(with(hs, "kid", kid), nil)
	}
	for _, length := range []int{1, len(whole) / 4, len(whole) / 2, len(whole) - 1} {
		tokens[fmt.Sprintf("the first %d bytes", length)] = whole[:length]
	}
	for i := range f.parts[2] { // a bit of the signature, or of what it ends with
		if i%9 == 0 {
			letter := "A"
			if f.parts[2][i] == 'A' {
				letter = "B"
			}
			tokens[fmt.Sprintf("byte %d of the signature", i)] = f.parts[0] + "." + f.parts[1] + "." + f.parts[2][:i] + letter + f.parts[2][i+1:]
		}
	}
	return tokens
}

// TestForgedTokens sends tokens that can be made of a valid one and of the
// published keys, in the header and in the query, to reads and writes: each is
// 401, says no more than that, and changes nothing.
func TestForgedTokens(t *testing.T) { service.EachStore(t, testForgedTokens) }

func testForgedTokens(t *testing.T, fresh service.NewStore) {
	process.SkipSequential(t)
	c := service.Converse(t, fresh)
	tokens := newForger(t, c.Service, c.Token).forged()
	before, err := c.Service.Camera.Picture()
	if err != nil {
		t.Fatal(err)
	}
	var one string
	for _, name := range slices.Sorted(maps.Keys(tokens)) {
		for _, r := range []struct{ method, path, body string }{
			{http.MethodGet, "/api/v1/networks/main", ""},
			{http.MethodHead, "/api/v1/networks/main", ""},
			{http.MethodPost, service.Object, `{"name": "forged"}`},
			{http.MethodPost, "/api/v1/batch?context=main", `{"operations": [{"type": "teams", "object": {"name": "forged"}}]}`},
		} {
			a, err := c.Service.Send(r.method, r.path, http.Header{"Authorization": {"Bearer " + tokens[name]}}, strings.NewReader(r.body))
			if err != nil {
				if strings.Contains(tokens[name], "\x00") {
					continue
				}
				t.Fatal(name, err)
			}
			if a.Status != http.StatusUnauthorized {
				t.Errorf("%s: %s %s is answered with %d %s", name, r.method, r.path, a.Status, a.Body)
			}
			for _, wrong := range a.Promises(false) {
				t.Errorf("%s: %s", name, wrong)
			}
			if r.method == http.MethodGet { // all are refused in the same words
				if one == "" {
					one = string(a.Body)
				}
				if string(a.Body) != one {
					t.Errorf("%s is refused with %s, others with %s", name, a.Body, one)
				}
			}
		}
		a, err := c.Service.Send(http.MethodGet, "/api/v1/networks/main?auth_token="+url.QueryEscape(tokens[name]), http.Header{}, nil)
		if err != nil || a.Status != http.StatusUnauthorized {
			t.Errorf("%s in the query: %v %d %s", name, err, a.Status, a.Body)
		}
	}
	if after, err := c.Service.Camera.Picture(); err != nil || after != before {
		t.Errorf("the store is not as before: %v", err)
	}
	c.Send(http.MethodGet, "/api/v1/networks/main", "", http.StatusOK, "")
}

// TestTokensOfOthers: the token of another service, of a time that has passed,
// and of the other kind are refused.
func TestTokensOfOthers(t *testing.T) { service.EachStore(t, testTokensOfOthers) }

func testTokensOfOthers(t *testing.T, fresh service.NewStore) {
	here, there := service.Converse(t, fresh), service.Converse(t, service.NewSQLite)
	is := func(c *service.Conversation, token string, status int) {
		t.Helper()
		if a := c.Service.Ask(token, http.MethodGet, "/api/v1/networks/main", "", nil); a.Status != status {
			t.Errorf("%d, not %d: %s", a.Status, status, a.Body)
		}
	}
	is(here, there.Token, http.StatusUnauthorized)
	is(there, here.Token, http.StatusUnauthorized)
	grant := func(form url.Values) map[string]any {
		a, err := here.Service.Send(http.MethodPost, "/api/authenticate", http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		object, _ := a.JSON().(map[string]any)
		return object
	}
	tokens := grant(url.Values{"grant_type": {"password"}, "username": {service.Admin}, "password": {service.AdminPassword}})
	access, refresh := fmt.Sprint(tokens["access_token"]), fmt.Sprint(tokens["refresh_token"])
	is(here, refresh, http.StatusUnauthorized)
	is(here, access, http.StatusOK)
	if refused := grant(url.Values{"grant_type": {"refresh_token"}, "refresh_token": {access}}); refused["error"] != "invalid_grant" {
		t.Errorf("an access token is taken as a refresh token: %v", refused)
	}
	here.Service.Clock.Advance(time.Hour - time.Minute)
	is(here, access, http.StatusOK)
	here.Service.Clock.Advance(3 * time.Minute)
	is(here, access, http.StatusUnauthorized)
	is(here, here.Token, http.StatusUnauthorized)
}

// TestForgedOpaqueTokens sends what can be made of a refresh token and of an API token, and
// what the store has of them: all are refused in the same words, change nothing, and leave
// the tokens themselves valid.
func TestForgedOpaqueTokens(t *testing.T) { service.EachStore(t, testForgedOpaqueTokens) }

func testForgedOpaqueTokens(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	grant := func(form url.Values) *service.Answer {
		a, err := c.Service.Send(http.MethodPost, "/api/authenticate", http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	refreshed := func(token string) *service.Answer {
		return grant(url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}})
	}
	used := func(token string) *service.Answer {
		return c.Service.Ask(token, http.MethodGet, "/api/v1/networks/main", "", nil)
	}
	signedIn, _ := grant(url.Values{"grant_type": {"password"}, "username": {service.Admin}, "password": {service.AdminPassword}}).JSON().(map[string]any)
	refresh := fmt.Sprint(signedIn["refresh_token"])
	c.Send("PUT", "/api/v1/roles/reader?context=main", `{"name": "R", "scope": "NETWORK"}`, 201, "")
	made, _ := c.Send("PUT", "/api/v1/tokens/t?context=main", `{"name": "T", "role": "reader"}`, 201, "").JSON().(map[string]any)
	api := fmt.Sprint(made["token"])
	for _, kind := range []struct {
		token, other string
		send         func(string) *service.Answer
		status       int
	}{{refresh, api, refreshed, http.StatusBadRequest}, {api, refresh, used, http.StatusUnauthorized}} {
		before, err := c.Service.Camera.Picture()
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256([]byte(kind.token))
		forged := []string{kind.other, kind.token[1:], kind.token + "A", kind.token + "=", kind.token + ".", " " + kind.token + "x", kind.token + kind.token,
			strings.ToUpper(kind.token), strings.ToLower(kind.token), strings.Repeat("A", len(kind.token)), url.QueryEscape("' OR '1'='1"), "null", "mq_" + kind.token, strings.TrimPrefix(kind.token, "mq_") + "x",
			base64.RawURLEncoding.EncodeToString(sum[:]), base64.StdEncoding.EncodeToString(sum[:]), service.APIHash(kind.token), "mq_" + base64.RawURLEncoding.EncodeToString(sum[:])}
		for _, length := range []int{1, len(kind.token) / 2, len(kind.token) - 1} {
			forged = append(forged, kind.token[:length])
		}
		for i := range kind.token {
			letter := "A"
			if kind.token[i] == 'A' {
				letter = "B"
			}
			forged = append(forged, kind.token[:i]+letter+kind.token[i+1:])
		}
		one := ""
		for _, token := range forged {
			a := kind.send(token)
			if one == "" {
				one = string(a.Body)
			}
			if a.Status != kind.status || string(a.Body) != one {
				t.Errorf("%q for %q: %d, not %d: %s", token, kind.token, a.Status, kind.status, a.Body)
			}
		}
		if after, err := c.Service.Camera.Picture(); err != nil || after != before {
			t.Errorf("the store is not as before: %v", err)
		}
		if a := kind.send(kind.token); a.Status != http.StatusOK {
			t.Errorf("the token itself: %d %s", a.Status, a.Body)
		}
	}
}
