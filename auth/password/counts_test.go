package password

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"marquee/engine/store"
	"marquee/engine/store/sqlite"
)

// However many names and addresses are tried, the size of a record is bounded, and
// those that are tried once do not displace one that is tried often.
func TestAttemptsAreBounded(t *testing.T) {
	var d countRecord
	now := time.Unix(1_800_000_000, 0)
	for range 5 {
		d.add("victim", now, 15*time.Minute)
	}
	for i := range 1000 {
		d.add(fmt.Sprint(i), now, 15*time.Minute)
	}
	if len(d.Entries) != attemptEntries {
		t.Errorf("%d entries", len(d.Entries))
	}
	if entry := d.find("victim"); entry == nil || entry.count() != 5 || len(entry.Parts) != 1 {
		t.Errorf("the victim has %v", entry)
	}
	for i := range 100 {
		d.add("victim", now.Add(time.Duration(i)*time.Minute), 15*time.Minute)
		d.prune(now.Add(time.Duration(i)*time.Minute), 15*time.Minute)
	}
	if entry := d.find("victim"); len(entry.Parts) > windowParts+1 || len(d.Entries) != 1 {
		t.Errorf("%d entries, the victim's with %d parts", len(d.Entries), len(entry.Parts))
	}
}

// opened returns a store with the collections of this package.
func opened(t *testing.T) store.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "store.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if err := s.EnsureCollections(t.Context(), Collections()); err != nil {
		t.Fatal(err)
	}
	return s
}

// Only some addresses of a user are remembered.
func TestAddressesAreBounded(t *testing.T) {
	s, now := opened(t), time.Unix(1_800_000_000, 0)
	for i := range maxAddresses + 5 {
		err := s.Write(t.Context(), func(tx store.Tx) error {
			return putAddress(t.Context(), tx, "u", fmt.Sprint(i), now.Add(time.Duration(i)*24*time.Hour))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	err := s.Read(t.Context(), func(r store.Snapshot) error {
		var d addressDocument
		_, err := store.ReadOne(t.Context(), r, addressCollection, store.Key{ID: "u"}, &d)
		_, first := d.Addresses["0"]
		_, last := d.Addresses[fmt.Sprint(maxAddresses+4)]
		if len(d.Addresses) != maxAddresses || first || !last {
			t.Errorf("%v", d.Addresses)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Attempts with the same name, in whatever case, follow each other, and leave no line
// behind.
func TestAttemptsOfANameFollowEachOther(t *testing.T) {
	attempts := NewAttempts(opened(t), Limits{}, time.Now)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	first, err := attempts.SignIn(t.Context(), "192.0.2.1", "Kari")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := attempts.SignIn(ended, "192.0.2.2", "kari"); err == nil {
		t.Error("two at once")
	}
	other, err := attempts.SignIn(ended, "192.0.2.1", "Ola")
	if err != nil {
		t.Errorf("another name: %v", err)
	}
	first.Leave()
	other.Leave()
	if len(attempts.lines.open) != 0 {
		t.Errorf("%d lines are left", len(attempts.lines.open))
	}
}

// Hashes have the parameters that OWASP recommends, unless a test's package has cheap ones.
func TestHashParameters(t *testing.T) {
	hash, err := Hash(t.Context(), "192.0.2.1", "the right word 4")
	if err != nil || !strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Errorf("%s: %v", hash, err)
	}
}

// The hash of nobody takes as long to compare as that of a user.
func TestHashOfNobody(t *testing.T) {
	if parsed, ok := parseHash(dummy()); !ok || Outdated(dummy()) || parsed.memory != argonMemoryKB {
		t.Error("the hash of nobody has other parameters")
	}
}
