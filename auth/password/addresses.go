package password

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"time"

	"marquee/engine/store"
)

const (
	addressCollection = "auth_addresses"
	// maxAddresses is the maximum number of addresses that are remembered for a user.
	maxAddresses = 32
	secondsOfDay = 24 * 60 * 60
)

// addressDocument has the addresses where a user has signed in: their hashes, and the
// Unix days of the latest sign-ins.
type addressDocument struct {
	Addresses map[string]int64 `json:"addresses"`
}

// putAddress stores that a user has signed in at an address.
func putAddress(ctx context.Context, tx store.Tx, user, address string, now time.Time) error {
	d := addressDocument{Addresses: map[string]int64{}}
	record, err := store.ReadOne(ctx, tx, addressCollection, store.Key{ID: user}, &d)
	if err != nil {
		return err
	}
	if _, known := d.Addresses[address]; !known && len(d.Addresses) >= maxAddresses {
		oldest := ""
		for known, day := range d.Addresses {
			if oldest == "" || day < d.Addresses[oldest] || day == d.Addresses[oldest] && known < oldest {
				oldest = known
			}
		}
		delete(d.Addresses, oldest)
	}
	d.Addresses[address] = now.Unix() / secondsOfDay
	return store.PutInternal(ctx, tx, addressCollection, record, "ACTIVE", d, now)
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

func hashAddress(from string) string {
	digest := sha256.Sum256([]byte("address\x00" + from))
	return hex.EncodeToString(digest[:12])
}
