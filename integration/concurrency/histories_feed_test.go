package concurrency

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"marquee/integration/service"
)

// auditEntry is one version of an object, as the history has it.
type auditEntry struct {
	Version, Revision int64
	Changes           []struct {
		Field    string
		From, To any
	}
}

func (e auditEntry) to(field string) any {
	for _, change := range e.Changes {
		if change.Field == field {
			return change.To
		}
	}
	return nil
}

// audit reads the history of an object, the first version first. It has each version up
// to that of the object, and each revision.
func (y *history) audit(kind string, i int) (entries []auditEntry, err error) {
	p, id := y.h.p, y.id(i)
	for cursor := ""; ; {
		a, err := p.Send(http.MethodGet, fmt.Sprintf("/api/v1/audit?context=main&type=%s&id=%s&pageSize=1000%s", kind, id, cursor), nil, nil)
		if err != nil || a.Status != http.StatusOK {
			return nil, fmt.Errorf("the history of %s/%s: %v %v", kind, id, err, a)
		}
		var page struct {
			Results    []auditEntry
			NextCursor string
		}
		if err := json.Unmarshal(a.Body, &page); err != nil {
			return nil, err
		}
		entries = append(entries, page.Results...)
		if page.NextCursor == "" {
			break
		}
		cursor = "&cursor=" + page.NextCursor
	}
	f, err := crashRead(p, "/api/v1/"+kind+"/"+id)
	if err != nil {
		return nil, err
	}
	if len(entries) != f.version {
		return nil, fmt.Errorf("%s/%s is at version %d, and its history has %d entries", kind, id, f.version, len(entries))
	}
	for n, entry := range entries {
		if want := int64(f.version - n); entry.Version != want || entry.Revision != want {
			return nil, fmt.Errorf("in place of version and revision %d, the history of %s/%s has %d and %d", want, kind, id, entry.Version, entry.Revision)
		}
	}
	y.h.revisions[kind+"/"+id] = int64(f.version)
	slices.Reverse(entries)
	return entries, nil
}

// checkFeed: the feed has each revision of each object once, in their order, up to that
// of the object.
func (h *historian) checkFeed() {
	h.Helper()
	s, err := service.OpenStore(h.T, h.store)
	if err != nil {
		h.Fatal(err)
	}
	last := checkFeed(h.T, s)
	if err := s.Close(); err != nil {
		h.Error(err)
	}
	for _, revision := range last {
		h.listed += int(revision)
	}
	for key, revision := range h.revisions {
		kind, id, _ := strings.Cut(key, "/")
		if feed := last[service.CrashKey(kind, "main", id)]; feed != revision {
			h.Errorf("%s is at revision %d, and the feed ends with %d", key, revision, feed)
		}
	}
	if want := 2 * historyObjects * h.rounds; len(h.revisions) != want {
		h.Errorf("%d objects were looked at, not %d", len(h.revisions), want)
	}
}
