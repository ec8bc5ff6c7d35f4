package driverbench

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

var (
	rows     = flag.Int("rows", 200_000, "rows of the large table")
	pageSize = flag.Int("pagesize", 4096, "database page size")
	baseDir  = flag.String("dir", "", "directory of the database files")
)

const (
	network   = "networks/1234"
	perOrder  = 1000 // documents of one order
	batchSize = 1000 // documents of one bulk transaction
)

const schema = `
CREATE TABLE doc (
	pk INTEGER PRIMARY KEY, network TEXT NOT NULL, id TEXT NOT NULL, version INT NOT NULL,
	state TEXT NOT NULL, create_time INT NOT NULL, update_time INT NOT NULL,
	create_user TEXT, update_user TEXT, warnings TEXT, doc TEXT NOT NULL, UNIQUE (network, id));
CREATE INDEX doc_created ON doc (network, create_time, id, state);
CREATE INDEX doc_updated ON doc (network, update_time, id, state);
CREATE INDEX doc_order ON doc (network, json_extract(doc, '$.order'), create_time, id, state);
CREATE INDEX doc_tier ON doc (network, json_extract(doc, '$.tier'), create_time, id, state);
CREATE INDEX doc_name ON doc (network, json_extract(doc, '$.name'), id, state);
CREATE TABLE audit (
	seq INTEGER PRIMARY KEY, network TEXT, type TEXT, id TEXT, version INT,
	time INT, user TEXT, diff TEXT);
CREATE INDEX audit_object ON audit (network, type, id, seq);
CREATE TABLE terms (
	network TEXT, path TEXT, value TEXT, doc INT,
	PRIMARY KEY (network, path, value, doc)) WITHOUT ROWID;
`

// A session is a connection with the statements of the store.
type session struct {
	conn
	begin, read, commit, savepoint, release stmt
	insert, audit, term                     stmt
	get, labels, count, list                stmt
}

func open(tb testing.TB, d driver, path string) *session {
	tb.Helper()
	c, err := d.open(path)
	if err != nil {
		tb.Fatal(err)
	}
	s := &session{conn: c}
	check(tb, c.Exec(fmt.Sprintf(`PRAGMA page_size = %d; PRAGMA journal_mode = WAL;
		PRAGMA synchronous = FULL; PRAGMA cache_size = -16384; PRAGMA busy_timeout = 5000;
		PRAGMA temp_store = MEMORY`, *pageSize)))
	if _, err := os.Stat(path + ".ready"); err != nil {
		check(tb, c.Exec(schema))
		check(tb, os.WriteFile(path+".ready", nil, 0o600))
	}
	for _, q := range []struct {
		stmt  *stmt
		query string
	}{
		{&s.begin, `BEGIN IMMEDIATE`},
		{&s.read, `BEGIN`},
		{&s.commit, `COMMIT`},
		{&s.savepoint, `SAVEPOINT op`},
		{&s.release, `RELEASE op`},
		{&s.insert, `INSERT INTO doc (network, id, version, state, create_time, update_time,
			create_user, update_user, warnings, doc) VALUES (?,?,?,?,?,?,?,?,?,?)`},
		{&s.audit, `INSERT INTO audit (network, type, id, version, time, user, diff) VALUES (?,?,?,?,?,?,?)`},
		{&s.term, `INSERT INTO terms VALUES (?,?,?,?)`},
		{&s.get, `SELECT pk, version, doc FROM doc WHERE network = ? AND id = ?`},
		{&s.labels, `SELECT id, json_extract(doc, '$.name') FROM doc WHERE network = ? AND id IN (?, ?)`},
		{&s.count, `SELECT count(*) FROM doc WHERE network = ? AND json_extract(doc, '$.order') = ?`},
		{&s.list, `SELECT id, version, doc FROM doc WHERE network = ? AND json_extract(doc, '$.order') = ?
			ORDER BY create_time, id LIMIT 100`},
	} {
		*q.stmt, err = c.Prepare(q.query)
		check(tb, err)
	}
	return s
}

func check(tb testing.TB, err error) {
	if err != nil {
		tb.Helper()
		tb.Fatal(err)
	}
}

func docID(i int) string { return fmt.Sprintf("lineItems/%012d", i) }

// body returns a document of about 700 bytes.
func body(buf []byte, i int) []byte {
	return fmt.Appendf(buf[:0], `{"budget":{"amount":"%d.50","currency":"USD"},"description":"%s",`+
		`"endTime":"2026-12-31T23:59:59Z","id":"%s","labels":["labels/%06d","labels/%06d"],`+
		`"name":"Homepage takeover %d","objectives":[{"kind":"IMPRESSIONS","target":%d},{"kind":"CLICKS","target":%d}],`+
		`"order":"orders/%06d","placements":["placements/%06d","placements/%06d"],`+
		`"startTime":"2026-11-01T00:00:00Z","tier":"tiers/%06d"}`,
		i%10_000, strings.Repeat("line item text ", 19), docID(i), i%97, i%89,
		i, i*10, i%1000, i/perOrder, i%5000, i%4999, i/(perOrder/10))
}

// put writes document i with its audit record and, on request, its terms.
func (s *session) put(tb testing.TB, buf []byte, i, terms int) []byte {
	id, now := docID(i), int64(1_790_000_000_000+i)
	buf = body(buf, i)
	s.insert.BindString(1, network)
	s.insert.BindString(2, id)
	s.insert.BindInt(3, 1)
	s.insert.BindString(4, "ACTIVE")
	s.insert.BindInt(5, now)
	s.insert.BindInt(6, now)
	s.insert.BindString(7, "users/trafficker")
	s.insert.BindString(8, "users/trafficker")
	s.insert.BindString(9, "[]")
	s.insert.BindText(10, buf)
	check(tb, s.insert.Exec())
	s.audit.BindString(1, network)
	s.audit.BindString(2, "lineItem")
	s.audit.BindString(3, id)
	s.audit.BindInt(4, 1)
	s.audit.BindInt(5, now)
	s.audit.BindString(6, "users/trafficker")
	s.audit.BindText(7, buf)
	check(tb, s.audit.Exec())
	for t := range terms {
		s.term.BindString(1, network)
		s.term.BindString(2, "labels")
		s.term.BindString(3, fmt.Sprintf("labels/%06d", (i*7+t)%997))
		s.term.BindInt(4, int64(i))
		check(tb, s.term.Exec())
	}
	return buf
}

// find reads a document as a step of a transaction.
func (s *session) find(tb testing.TB, i int) (found bool, size int) {
	s.get.BindString(1, network)
	s.get.BindString(2, docID(i))
	found, err := s.get.Step()
	check(tb, err)
	if found {
		size = len(s.get.Text(2))
	}
	check(tb, s.get.Reset())
	return found, size
}

// create is the transaction step that adds one object.
func (s *session) create(tb testing.TB, buf []byte, i int) []byte {
	check(tb, s.savepoint.Exec())
	if found, _ := s.find(tb, i); found {
		tb.Fatal("object exists")
	}
	buf = s.put(tb, buf, i, 0)
	check(tb, s.release.Exec())
	return buf
}

// withContext gives the connection a context that can end, as a request has.
func (s *session) withContext(fn func()) {
	ctx, cancel := context.WithCancel(context.Background())
	s.SetContext(ctx)
	fn()
	s.SetContext(context.Background())
	cancel()
}

func tempDir(tb testing.TB) string {
	dir, err := os.MkdirTemp(*baseDir, "driverbench")
	check(tb, err)
	tb.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func fill(tb testing.TB, s *session, from, n int) {
	var buf []byte
	s.withContext(func() {
		check(tb, s.begin.Exec())
		for i := from; i < from+n; i++ {
			buf = s.put(tb, buf, i, 3)
		}
		check(tb, s.commit.Exec())
	})
}

func each(b *testing.B, fn func(b *testing.B, d driver)) {
	for _, d := range drivers {
		b.Run(d.name, func(b *testing.B) {
			b.ReportAllocs()
			fn(b, d)
		})
	}
}

// BenchmarkBulk is one transaction of 1,000 documents.
func BenchmarkBulk(b *testing.B) {
	each(b, func(b *testing.B, d driver) {
		s := open(b, d, filepath.Join(tempDir(b), "db"))
		defer s.Close()
		n := 0
		for b.Loop() {
			fill(b, s, n, batchSize)
			n += batchSize
		}
		b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "docs/s")
	})
}

// BenchmarkSingle commits each object by itself.
func BenchmarkSingle(b *testing.B) { benchCreate(b, 1) }

// BenchmarkGroup commits 64 objects at a time.
func BenchmarkGroup(b *testing.B) { benchCreate(b, 64) }

func benchCreate(b *testing.B, group int) {
	each(b, func(b *testing.B, d driver) {
		s := open(b, d, filepath.Join(tempDir(b), "db"))
		defer s.Close()
		n := 0
		var buf []byte
		for b.Loop() {
			s.withContext(func() {
				check(b, s.begin.Exec())
				for range group {
					buf = s.create(b, buf, n)
					n++
				}
				check(b, s.commit.Exec())
			})
		}
		b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "docs/s")
	})
}

// large holds, by driver, a database of -rows documents that this driver made.
// Drivers do not share a file: ncruces cannot open one that modernc has had
// open in the same process.
var large = map[string]string{}

func largeDB(tb testing.TB, d driver) string {
	path, ok := large[d.name]
	if !ok {
		dir, err := os.MkdirTemp(*baseDir, "driverbench")
		check(tb, err)
		path = filepath.Join(dir, "db")
		large[d.name] = path
		s := open(tb, d, path)
		for i := 0; i < *rows; i += batchSize {
			fill(tb, s, i, batchSize)
		}
		check(tb, s.Close())
	}
	return path
}

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	for _, path := range large {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// BenchmarkGet reads one document and three pairs of labels in a read
// transaction, on two connections at a time.
func BenchmarkGet(b *testing.B) {
	each(b, func(b *testing.B, d driver) {
		path := largeDB(b, d)
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
		pool := make(chan *session, 2)
		for range cap(pool) {
			s := open(b, d, path)
			defer s.Close()
			pool <- s
		}
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			s := <-pool
			defer func() { pool <- s }()
			for i := 1; pb.Next(); i++ {
				s.withContext(func() {
					check(b, s.read.Exec())
					if _, size := s.find(b, i*7919%*rows); size < 600 {
						b.Fatal("document is missing")
					}
					for t := range 3 {
						s.labels.BindString(1, network)
						s.labels.BindString(2, docID(i*7919%*rows))
						s.labels.BindString(3, docID((i*104729+t)%*rows))
						if n, _ := drain(b, s.labels, 1); n == 0 {
							b.Fatal("labels are missing")
						}
					}
					check(b, s.commit.Exec())
				})
			}
		})
	})
}

// drain reads all the rows of a statement and the bytes of one column.
func drain(tb testing.TB, s stmt, col int) (n, size int) {
	for {
		row, err := s.Step()
		check(tb, err)
		if !row {
			check(tb, s.Reset())
			return n, size
		}
		n++
		size += len(s.Text(col))
	}
}

// BenchmarkList reads a page of 100 documents of an order and the count of
// its 1,000.
func BenchmarkList(b *testing.B) {
	each(b, func(b *testing.B, d driver) {
		s := open(b, d, largeDB(b, d))
		defer s.Close()
		orders := *rows / perOrder
		for i := 0; b.Loop(); i++ {
			order := fmt.Sprintf("orders/%06d", i*37%orders)
			s.withContext(func() {
				check(b, s.read.Exec())
				s.count.BindString(1, network)
				s.count.BindString(2, order)
				_, err := s.count.Step()
				check(b, err)
				if n := s.count.Int(0); n != perOrder {
					b.Fatalf("count is %d", n)
				}
				check(b, s.count.Reset())
				s.list.BindString(1, network)
				s.list.BindString(2, order)
				if n, _ := drain(b, s.list, 2); n != 100 {
					b.Fatalf("page has %d documents", n)
				}
				check(b, s.commit.Exec())
			})
		}
	})
}

// BenchmarkLoad inserts -rows documents once and reports the peak resident
// memory. Run it with -benchtime 1x, one driver per process.
func BenchmarkLoad(b *testing.B) {
	each(b, func(b *testing.B, d driver) {
		for b.Loop() {
			debug.FreeOSMemory()
			os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // resets the peak on Linux
			s := open(b, d, filepath.Join(tempDir(b), "db"))
			for i := 0; i < *rows; i += batchSize {
				fill(b, s, i, batchSize)
			}
			check(b, s.Close())
		}
		b.ReportMetric(float64(*rows*b.N)/b.Elapsed().Seconds(), "docs/s")
		b.ReportMetric(peakMB(), "peak-MB")
	})
}

func peakMB() float64 {
	status, _ := os.ReadFile("/proc/self/status")
	var kb float64
	for line := range strings.Lines(string(status)) {
		fmt.Sscanf(line, "VmHWM: %f kB", &kb)
	}
	return kb / 1024
}

func forEachDriver(t *testing.T, fn func(t *testing.T, d driver)) {
	for _, d := range drivers {
		t.Run(d.name, func(t *testing.T) { fn(t, d) })
	}
}

func text(t *testing.T, c conn, query string) string {
	t.Helper()
	s, err := c.Prepare(query)
	check(t, err)
	defer s.Close()
	_, err = s.Step()
	check(t, err)
	return string(s.Text(0))
}

func TestFeatures(t *testing.T) {
	forEachDriver(t, func(t *testing.T, d driver) {
		s := open(t, d, filepath.Join(tempDir(t), "db"))
		defer s.Close()
		t.Log("SQLite", text(t, s, `SELECT sqlite_version()`))
		if got := text(t, s, `SELECT upperascii('abc')`); got != "ABC" {
			t.Errorf("scalar function returned %q", got)
		}
		typeOf, err := s.Prepare(`SELECT typeof(?)`)
		check(t, err)
		typeOf.BindText(1, []byte("abc"))
		_, err = typeOf.Step()
		check(t, err)
		if got := string(typeOf.Text(0)); got != "text" {
			t.Errorf("bytes are bound as %s", got)
		}
		check(t, typeOf.Close())
	})
}

func TestInterrupt(t *testing.T) {
	forEachDriver(t, func(t *testing.T, d driver) {
		s := open(t, d, filepath.Join(tempDir(t), "db"))
		defer s.Close()
		q, err := s.Prepare(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT max(i) FROM n`)
		check(t, err)
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		s.SetContext(ctx)
		start := time.Now()
		_, err = q.Step()
		t.Logf("%v after %v, code %d", err, time.Since(start).Round(time.Millisecond), d.code(err))
		if err == nil {
			t.Error("statement was not interrupted")
		}
		q.Reset()
		s.SetContext(context.Background())
		fill(t, s, 0, 1)
	})
}

func TestErrorCodes(t *testing.T) {
	forEachDriver(t, func(t *testing.T, d driver) {
		dir := tempDir(t)
		try := func(name, script string) error {
			c, err := d.open(filepath.Join(dir, name))
			if err != nil {
				return err
			}
			defer c.Close()
			return c.Exec(script)
		}
		want := func(what string, primary int, err error) {
			t.Logf("%s: code %d, %v", what, d.code(err), err)
			if d.code(err)&0xff != primary {
				t.Errorf("%s: code %d, want primary code %d", what, d.code(err), primary)
			}
		}
		fillUp := `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 1000)
			INSERT INTO t SELECT hex(randomblob(500)) FROM n;`
		check(t, try("ok", `PRAGMA journal_mode = DELETE; CREATE TABLE t (x TEXT UNIQUE);`+fillUp))
		good, err := os.ReadFile(filepath.Join(dir, "ok"))
		check(t, err)

		want("full", 13, try("full", `PRAGMA max_page_count = 20; CREATE TABLE t (x);`+fillUp))
		want("constraint", 19, try("ok", `INSERT INTO t VALUES ('a'), ('a')`))
		want("query only", 8, try("ok", `PRAGMA query_only = 1; INSERT INTO t VALUES ('b')`))
		want("no directory", 14, try("none/db", `SELECT * FROM sqlite_schema`))

		check(t, os.WriteFile(filepath.Join(dir, "text"), []byte(strings.Repeat("not a database ", 500)), 0o600))
		want("not a database", 26, try("text", `SELECT * FROM sqlite_schema`))

		bad := append([]byte(nil), good...)
		for i := 4096; i < len(bad); i++ {
			bad[i] = 0x5a
		}
		check(t, os.WriteFile(filepath.Join(dir, "bad"), bad, 0o600))
		want("corrupt", 11, try("bad", `SELECT count(x) FROM t`))

		newer := append([]byte(nil), good...)
		newer[18], newer[19] = 3, 3 // file format of a later SQLite
		check(t, os.WriteFile(filepath.Join(dir, "newer"), newer, 0o600))
		want("newer format", 26, try("newer", `SELECT * FROM t`))

		holder, err := d.open(filepath.Join(dir, "ok"))
		check(t, err)
		defer holder.Close()
		check(t, holder.Exec(`BEGIN EXCLUSIVE`))
		want("busy", 5, try("ok", `PRAGMA busy_timeout = 50; BEGIN IMMEDIATE`))
	})
}
