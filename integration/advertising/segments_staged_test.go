package advertising

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"marquee/engine/store"
	"marquee/integration/process"
	"marquee/integration/service"
)

// staging is a store in which something is done between the staging of an
// upload and its transaction, so many times. It counts the transactions of
// uploads, and reports whether they examined anything.
type staging struct {
	store.Store
	meddle  func(n int)
	writes  int
	reading bool
}

func (s *staging) Write(ctx context.Context, fn func(store.Tx) error) error {
	if !store.EffortOf(ctx).Extensive {
		return s.Store.Write(ctx, fn)
	}
	s.writes++
	s.meddle(s.writes)
	return s.Store.Write(ctx, func(tx store.Tx) error { return fn(stagedTx{tx, s}) })
}

type stagedTx struct {
	store.Tx
	s *staging
}

func (tx stagedTx) Labels(ctx context.Context, queries ...store.LabelQuery) ([]map[store.Key]string, error) {
	tx.s.reading = true // names are only read to render the answer
	return tx.Tx.Labels(ctx, queries...)
}

// TestSegmentsStaged changes what an upload to the embedded store was prepared
// on before it is stored: it is prepared again, and stored as if it had come
// later. Other writes do not matter.
func TestSegmentsStaged(t *testing.T) {
	process.SkipSequential(t)
	t.Parallel()
	for name, c := range map[string]struct {
		meddle string // a write: path and body
		again  bool   // always, and not only the first time
		// writes is the number of transactions of the upload.
		writes int
		inside bool // the last of them examined the objects itself
		// expected is what segment 00001 is afterwards.
		expected string
	}{
		"nothing":            {"", false, 1, false, `{"name": "New", "description": "before", "teams": [{"id": "t", "name": "Team"}]}`},
		"something else":     {`advertisers/other {"name": "%d"}`, true, 1, false, `{"name": "New", "description": "before"}`},
		"an object":          {`segments/00001 {"description": "meanwhile %d"}`, false, 2, false, `{"name": "New", "description": "meanwhile 1"}`},
		"an unchanged one":   {`segments/00000 {"name": "meanwhile %d"}`, false, 2, false, `{"name": "New"}`},
		"a new one":          {`segments/00500 {"name": "meanwhile %d", "dataSource": "ADOBE", "description": "kept"}`, false, 2, false, `{"name": "New"}`},
		"a referenced one":   {`teams/t {"name": "Renamed %d"}`, false, 2, false, `{"teams": [{"id": "t", "name": "Renamed 1"}]}`},
		"an object, always":  {`segments/00001 {"description": "meanwhile %d"}`, true, 4, true, `{"name": "New", "description": "meanwhile 4"}`},
		"the network's zone": {`networks/main {"timeZone": "Asia/Tokyo"}`, false, 2, false, `{"name": "New"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conversation := service.Converse(t, service.NewSQLite)
			conversation.Send("POST", "/api/v1/teams/t?context=main", `{"name": "Team"}`, 201, "")
			conversation.Send("POST", service.UploadPath, service.SegmentsBody(0, 100, "New"), 200, "")
			conversation.Send("POST", "/api/v1/segments/00001?context=main", `{"name": "Old", "description": "before"}`, 200, "")
			s := conversation.Service
			s.StopSearch() // which reads the engine's store
			s.StopSearch = func() {}
			watched := &staging{Store: s.Engine.Store, meddle: func(n int) {
				path, body, meddles := strings.Cut(c.meddle, " ")
				if !meddles || n > 1 && !c.again {
					return
				}
				if strings.Contains(body, "%d") {
					body = fmt.Sprintf(body, n)
				}
				a, err := s.Send("POST", "/api/v1/"+path+"?context=main", http.Header{"Authorization": {"Bearer " + conversation.Token}}, strings.NewReader(body))
				if err != nil || a.Status > 201 {
					t.Errorf("%v: %+v", err, a)
				}
			}}
			s.Engine.Store = watched
			body := service.SegmentsBody(0, 1500, "New")
			body = strings.Replace(body, `{"segmentId":"00001",`, `{"segmentId":"00001","teams":[{"id":"t"}],"ttlSpec":true,"timeToLiveType":"TODAY",`, 1)
			a := conversation.Send("POST", service.UploadPath, body, 200, "")
			if watched.writes != c.writes || watched.reading != c.inside {
				t.Errorf("the upload took %d transactions, and examined its objects in the last: %t", watched.writes, watched.reading)
			}
			found := conversation.Send("GET", "/api/v1/segments/00001?context=main", "", 200, c.expected)
			if one := `"id":"00001"`; !strings.Contains(string(a.Body), one) || !strings.Contains(string(found.Body), one) {
				t.Errorf("answered %.300s", a.Body)
			}
			for i, answered := range a.Segments(t) {
				if want := fmt.Sprintf("%05d", i); answered.ID != want || answered.Name != "New" {
					t.Fatalf("answer %d is %+v", i, answered)
				}
			}
			conversation.Send("GET", "/api/v1/segments?context=main&where=name=New&pageSize=1", "", 200, `{"totalCount": 1500}`)
			conversation.Send("GET", "/api/v1/segments?context=main&q=new&pageSize=1", "", 200, `{"totalCount": 1500}`)
			conversation.Send("GET", "/api/v1/segments?context=main&where=teams=t&pageSize=1", "", 200, `{"totalCount": 1}`)
		})
	}
}

// TestSegmentsStagedRacing uploads while others write the same segments and
// single ones: every answer holds, and the history has each change once.
func TestSegmentsStagedRacing(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	c := service.Converse(t, service.NewSQLite)
	c.Send("POST", service.UploadPath, service.SegmentsBody(0, 1200, "first"), 200, "")
	var wait sync.WaitGroup
	ended := make(chan struct{})
	versions := make([]int, 4)
	for i := range versions {
		wait.Go(func() {
			for n := 0; ; n++ {
				c.Send("POST", fmt.Sprintf("/api/v1/segments/%05d?context=main", i*300), fmt.Sprintf(`{"name": "Single", "dataSource": "ADOBE", "description": "%d"}`, n), http.StatusOK, "")
				select {
				case <-ended:
					versions[i] = n
					return
				default:
				}
			}
		})
	}
	for i := range 6 {
		c.Send("POST", service.UploadPath, service.SegmentsBody(0, 1200, fmt.Sprint("upload ", i)), 200, "")
	}
	close(ended)
	wait.Wait()
	for i, n := range versions {
		id := fmt.Sprintf("%05d", i*300)
		c.Send("GET", "/api/v1/segments/"+id+"?context=main", "", 200, fmt.Sprintf(`{"description": "%d"}`, n))
		// A single write always changes the description, an upload the name, or nothing.
		var history struct {
			TotalCount int
		}
		a := c.Send("GET", "/api/v1/audit?context=main&type=segments&pageSize=1000&id="+id, "", 200, "")
		if err := json.Unmarshal(a.Body, &history); err != nil {
			t.Fatal(err)
		}
		if history.TotalCount < n+2 || history.TotalCount > n+2+6 {
			t.Errorf("%s has changed %d times, by %d single writes and at most 7 uploads", id, history.TotalCount, n+1)
		}
	}
}
