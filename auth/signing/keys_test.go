package signing

import (
	"testing"
	"time"

	"marquee/engine/message"
)

// The next key signs once it has been published for ten minutes, tokens of the one before
// stay valid until they expire, and a replacement makes all other keys invalid at once.
func TestKeysRotate(t *testing.T) {
	keys, now := opened(t), tokenTime
	keys.config.Now = func() time.Time { return now }
	sign := func() string {
		t.Helper()
		token, err := keys.Sign(t.Context(), Claims{User: "u", Session: "s"})
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	signer := func() string {
		t.Helper()
		set, err := keys.current(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return set.signer(now).id
	}
	first, token := signer(), sign()
	if err := keys.Rotate(t.Context()); err != nil {
		t.Fatal(err)
	}
	now = now.Add(CacheAge)
	if signer() != first {
		t.Error("the next key signs before it has been published")
	}
	now = now.Add(CacheAge + time.Second)
	second := signer()
	if second == first {
		t.Error("the next key does not sign")
	}
	if _, err := keys.Verify(t.Context(), token); err != nil {
		t.Errorf("a token of the key before: %v", err)
	}
	described, err := keys.List(t.Context())
	if err != nil || len(described) != 3 || described[0].State != "RETIRING" || described[1].State != "SIGNING" || described[2].State != "NEXT" {
		t.Errorf("%+v, %v", described, err)
	}
	now = now.Add(keys.config.Access + 3*ClockSkew)
	if _, err := keys.Maintain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if published, err := keys.Published(t.Context()); err != nil || len(published) != 2 || published[0].KeyID != second {
		t.Errorf("%+v, %v", published, err)
	}
	token = sign()
	if err := keys.Replace(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := keys.Verify(t.Context(), token); !message.TokenInvalid.Is(err) {
		t.Errorf("a token of a replaced key: %v", err)
	}
}
