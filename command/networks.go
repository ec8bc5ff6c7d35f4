package command

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"marquee/engine/store"
)

// networkLister returns the ids of some of the networks that there are, or the one asked
// for.
type networkLister func(ctx context.Context, id string) ([]string, error)

// check refuses a network that the store does not have; an empty store may get it.
func (list networkLister) check(ctx context.Context, network string, mayCome bool) error {
	if network == "" {
		return nil
	}
	known, err := list(ctx, network)
	if err != nil || len(known) > 0 {
		return err
	}
	if mayCome {
		if all, err := list(ctx, ""); err != nil || len(all) == 0 {
			return err
		}
	}
	return list.lacks(ctx, fmt.Sprintf("there is no network %q", network))
}

// lacks returns an error that names the networks that there are.
func (list networkLister) lacks(ctx context.Context, sentence string) error {
	known, err := list(ctx, "")
	if err != nil {
		return err
	}
	for i, id := range known {
		known[i] = strconv.Quote(id)
	}
	if len(known) == 0 {
		return errors.New(sentence + "; the store has no networks yet: create one with " + programName + " init, or import networks")
	}
	return errors.New(sentence + "; the networks are " + strings.Join(known, ", "))
}

// listedNetworks is the maximum number of networks that are named.
const listedNetworks = 20

// networks is a networkLister of the store.
func (s *service) networks(ctx context.Context, id string) (ids []string, err error) {
	err = s.Store().Read(ctx, func(r store.Snapshot) error {
		ids = nil
		found := func(r *store.Record) error {
			ids = append(ids, r.ID)
			return nil
		}
		if id != "" {
			return r.Get(ctx, "networks", []store.Key{{ID: id}}, found)
		}
		return r.Scan(ctx, "networks", store.Key{}, listedNetworks, found)
	})
	return ids, err
}

// networks is a networkLister of a server.
func (o *operator) networks(ctx context.Context, id string) (ids []string, err error) {
	if id != "" {
		err := o.call(ctx, http.MethodGet, "/api/v1/networks/"+url.PathEscape(id), nil, nil, nil)
		if isMissing(err) {
			return nil, nil
		}
		return []string{id}, err
	}
	var page struct{ Results []struct{ ID string } }
	err = o.call(ctx, http.MethodGet, "/api/v1/networks", url.Values{"fields": {"id"}, "includeHidden": {"true"}, "orderBy": {"id"},
		"orderByDirection": {"ASCENDING"}, "pageSize": {strconv.Itoa(listedNetworks)}, "count": {"false"}}, nil, &page)
	for _, one := range page.Results {
		ids = append(ids, one.ID)
	}
	return ids, err
}
