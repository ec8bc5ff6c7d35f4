package verify

import (
	"fmt"

	"marquee/engine/query"
	"marquee/engine/store"
)

// counts compares the counts of lists with the number of objects met.
func (v *verifier) counts() error {
	for network, met := range v.networks {
		var counted int64
		err := v.e.Store.Read(v.ctx, func(s store.Snapshot) (err error) {
			counted, err = s.Count(v.ctx, query.Query{Collection: v.t.Name, Network: network})
			return err
		})
		if err != nil {
			return err
		}
		if counted == met {
			continue
		}
		if met, counted, err = v.recount(network); err != nil {
			return err
		}
		if counted != met {
			err := v.Fault(Fault{Type: v.t.Served().Name, Network: network, Text: fmt.Sprintf("the stored count is %d, but there are %d objects", counted, met), Cure: cureBackup})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// recount counts in both ways in one snapshot, as others may have written meanwhile.
func (v *verifier) recount(network string) (met, counted int64, err error) {
	err = v.e.Store.Read(v.ctx, func(s store.Snapshot) (err error) {
		met = 0
		if counted, err = s.Count(v.ctx, query.Query{Collection: v.t.Name, Network: network}); err != nil {
			return err
		}
		for last, more := (store.Key{Network: network}), true; more; {
			more = false
			err := s.Scan(v.ctx, v.t.Name, last, verifyPage, func(r *store.Record) error {
				if r.Network == network {
					met, last, more = met+1, r.Key, true
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return met, counted, err
}
