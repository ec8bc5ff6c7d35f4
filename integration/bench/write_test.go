package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"marquee/engine/query"
	"marquee/engine/store"
)

// BenchmarkCollectionWrite compares a collection write of 1,000 objects over
// HTTP with raw prepared inserts of the same documents in one transaction,
// into tables with the same indexes, audit rows and terms included.
func BenchmarkCollectionWrite(b *testing.B) {
	opened, path := onSQLite(b, nil)
	s := serve(b, opened)
	s.load(b, 5000, 10)
	raw := copyTables(b, path)
	next := 10_000
	ours := func() time.Duration {
		list := make([]any, 1000)
		for i := range list {
			list[i] = lineItem(next+i, 10)
		}
		next += 1000
		return s.post(b, list)
	}
	baseline := func() time.Duration { return raw.insert(b, s, next-1000) }
	interleaved(2, ours, baseline)
	b.ResetTimer()
	for range b.N {
		a, base := interleaved(10, ours, baseline)
		b.ReportMetric(float64(a)/float64(base), "time/raw")
		b.ReportMetric(a.Seconds()*100, "ms/1000objects")
	}
}

// rawTables is a second database with the tables and indexes of the first.
type rawTables struct {
	db                    *sqlite3.Conn
	record, term, changed *sqlite3.Stmt
}

func copyTables(b *testing.B, path string) *rawTables {
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	source, err := sqlite3.Open(path)
	must(err)
	defer source.Close()
	raw := &rawTables{}
	raw.db, err = sqlite3.Open(filepath.Join(b.TempDir(), "raw.db"))
	must(err)
	must(raw.db.Exec("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-16384"))
	list, _, err := source.Prepare(`SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'
		AND tbl_name IN ('r_lineitems','t_lineitems','changes') ORDER BY type DESC`)
	must(err)
	for list.Step() {
		must(raw.db.Exec(list.ColumnText(0)))
	}
	must(list.Err())
	must(list.Close())
	prepare := func(sql string) *sqlite3.Stmt {
		prepared, _, err := raw.db.PrepareFlags(sql, sqlite3.PREPARE_PERSISTENT)
		must(err)
		return prepared
	}
	raw.record = prepare("INSERT INTO r_lineitems (network,id,version,state,create_time,update_time,create_user,update_user,warnings,doc) VALUES (?,?,?,?,?,?,?,?,?,?)")
	raw.term = prepare("INSERT INTO t_lineitems (key,value,record) VALUES (?,?,?)")
	raw.changed = prepare("INSERT INTO changes (time,network,collection,id,version,user,fields) VALUES (?,?,?,?,?,?,?)")
	b.Cleanup(func() {
		for _, statement := range []*sqlite3.Stmt{raw.record, raw.term, raw.changed} {
			statement.Close()
		}
		must(raw.db.Close())
	})
	return raw
}

// insert copies the 1,000 objects that the service stored last.
func (raw *rawTables) insert(b *testing.B, s *service, from int) time.Duration {
	b.Helper()
	var records []store.Record
	var changes []store.Change
	ctx := context.Background()
	var keys []store.Key
	for i := range 1000 {
		keys = append(keys, store.Key{Network: network, ID: fmt.Sprintf("li-%08d", from+i)})
	}
	err := s.store.Read(ctx, func(r store.Snapshot) error {
		err := r.Get(ctx, "lineitems", keys, func(r *store.Record) error {
			kept := *r
			kept.Document = append([]byte(nil), r.Document...)
			kept.Warnings = append([]byte(nil), r.Warnings...)
			records = append(records, kept)
			return nil
		})
		if err != nil {
			return err
		}
		return r.History(ctx, store.HistoryQuery{Network: network, Collection: "lineitems", Limit: 1000}, func(c *store.Change) error {
			kept := *c
			kept.Fields = bytes.Clone(c.Fields)
			changes = append(changes, kept)
			return nil
		})
	})
	if err != nil || len(records) != 1000 || len(changes) != 1000 {
		b.Fatal(len(records), len(changes), err)
	}
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	exec := func(statement *sqlite3.Stmt, args ...any) {
		for i, arg := range args {
			switch v := arg.(type) {
			case string:
				must(statement.BindText(i+1, v))
			case int64:
				must(statement.BindInt64(i+1, v))
			case []byte:
				if len(v) == 0 {
					must(statement.BindNull(i + 1))
				} else {
					must(statement.BindRawText(i+1, v))
				}
			}
		}
		must(statement.Exec())
	}
	began := time.Now()
	must(raw.db.Exec("BEGIN IMMEDIATE"))
	for i, r := range records {
		exec(raw.record, r.Network, r.ID, r.Version, r.State, r.CreateTime.UnixMilli(), r.UpdateTime.UnixMilli(), r.CreateUser, r.UpdateUser, r.Warnings, r.Document)
		row := raw.db.LastInsertRowID()
		for _, word := range query.Words("Line item " + strconv.Itoa(from+i)) {
			exec(raw.term, int64(1), word, row)
		}
		for _, label := range []string{"summer", "front"} {
			exec(raw.term, int64(2), label, row)
		}
		c := changes[i]
		exec(raw.changed, c.Time.UnixMilli(), c.Network, c.Collection, c.ID, c.Version, c.User, c.Fields)
	}
	must(raw.db.Exec("COMMIT"))
	return time.Since(began)
}

// BenchmarkGroupCommit has 64 clients write single objects, every answer
// durable, with a delay of 5 ms in each commit: commits a write, and the
// throughput of 64 clients over that of one.
func BenchmarkGroupCommit(b *testing.B) {
	opened, _ := onSQLite(b, func() { time.Sleep(5 * time.Millisecond) })
	s := serve(b, opened)
	var next atomic.Int64
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	writes := func(clients, each int) time.Duration {
		var wait sync.WaitGroup
		began := time.Now()
		for range clients {
			wait.Go(func() {
				for range each {
					body := fmt.Sprintf(`{"name":"Advertiser %d","category":"Travel"}`, next.Add(1))
					url := fmt.Sprintf("%s/api/v1/advertisers/c%d?context=%s", s.server.URL, next.Add(1), network)
					r, err := http.NewRequest(http.MethodPut, url, bytes.NewReader([]byte(body)))
					if err != nil {
						b.Error(err)
						return
					}
					r.Header.Set("Authorization", "Bearer "+s.token)
					answer, err := client.Do(r)
					if err != nil {
						b.Error(err)
						return
					}
					if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != http.StatusCreated {
						b.Error(answer.StatusCode, err)
					}
					answer.Body.Close()
				}
			})
		}
		wait.Wait()
		return time.Since(began)
	}
	writes(64, 2)
	b.ResetTimer()
	for range b.N {
		commits := opened.Commits()
		many := writes(64, 40)
		commits = opened.Commits() - commits
		one := writes(1, 100)
		throughput := 64 * 40 / many.Seconds()
		b.ReportMetric(float64(commits)/(64*40), "commits/write")
		b.ReportMetric(throughput/(100/one.Seconds()), "throughput/one")
		b.ReportMetric(throughput, "writes/s")
	}
}
