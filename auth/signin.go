package auth

import (
	"context"
	"encoding/json"
	"net/netip"

	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// Password is the password grant. With a network, the user must have a role in it.
// Every failure is message.InvalidGrant, which does not reveal the cause. The check
// waits in line with those from other addresses until the context ends.
func (s *Service) Password(ctx context.Context, address, username, password, network string) (*Tokens, error) {
	var id, hash string
	var credential int64
	err := s.store.Read(ctx, func(r store.Snapshot) error {
		var err error
		if id, err = findUsername(ctx, r, username); err != nil || id == "" {
			return err
		}
		hash, credential, err = readHash(ctx, r, id)
		return err
	})
	if err != nil {
		return nil, store.Translate(err)
	}
	right, err := CheckPassword(ctx, originOf(address), password, hash)
	if err != nil {
		return nil, err
	}
	if !right {
		return nil, message.InvalidGrant.Error(nil)
	}
	return s.signIn(ctx, id, credential, network)
}

// originOf returns the origin of an address: for IPv6, the /64 network, because one
// client can have all of its addresses.
func originOf(address string) string {
	parsed, err := netip.ParseAddr(address)
	if err != nil {
		return "address " + address
	}
	parsed = parsed.Unmap().WithZone("")
	if parsed.Is6() {
		return "address " + netip.PrefixFrom(parsed, 64).Masked().String()
	}
	return "address " + parsed.String()
}

// findUsername returns the id of the user with exactly this name, or else of the only
// user whose name has the same normal form, or "". Names from before normal forms were
// compared can share one.
func findUsername(ctx context.Context, r store.Snapshot, username string) (id string, err error) {
	exact := store.Claim{Collection: "users", Property: "username", Value: string(document.AppendString(nil, username))}
	shared := catalog.FormClaims("users", "", schema.UniqueForm{Property: "username", Form: schema.UsernameForm}, username)
	owners, err := r.Claims(ctx, append(shared, exact))
	if err != nil || owners[exact] != "" {
		return owners[exact], err
	}
	for _, claim := range shared {
		switch owner := owners[claim]; {
		case owner != "" && id != "":
			return "", nil
		case owner != "":
			id = owner
		}
	}
	return id, nil
}

// readHash returns the hash of a user's password and its revision, "" and 0 without
// one.
func readHash(ctx context.Context, r store.Snapshot, id string) (hash string, revision int64, err error) {
	var credential credentialDocument
	err = r.Get(ctx, credentialCollection, []store.Key{{ID: id}}, func(r *store.Record) error {
		revision = r.Revision
		return json.Unmarshal(r.Document, &credential)
	})
	return credential.Hash, revision, err
}
