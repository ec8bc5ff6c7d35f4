package bench

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"

	"marquee/engine/store"
	"marquee/engine/store/mongo"
	"marquee/integration/mongodb"
)

// onMongoDB is a service in a new database, and that database as the driver
// alone sees it.
func onMongoDB(tb testing.TB, monitor *event.CommandMonitor) (*service, *driver.Database) {
	tb.Helper()
	return onDatabase(tb, mongodb.URI(tb), monitor)
}

func onDatabase(tb testing.TB, uri string, monitor *event.CommandMonitor) (*service, *driver.Database) {
	tb.Helper()
	s := serve(tb, openDatabase(tb, mongo.Options{URI: uri, Monitor: monitor}))
	return s, database(tb, uri)
}

func openDatabase(tb testing.TB, o mongo.Options) store.Store {
	tb.Helper()
	opened, err := mongo.Open(context.Background(), o)
	if err != nil {
		tb.Fatal(err)
	}
	return opened
}

// database is what a connection string names, with the concerns of the store.
func database(tb testing.TB, uri string) *driver.Database {
	tb.Helper()
	known, err := connstring.Parse(uri)
	if err != nil {
		tb.Fatal(err)
	}
	client, err := driver.Connect(options.Client().ApplyURI(uri).SetReadConcern(readconcern.Majority()).SetWriteConcern(writeconcern.Majority()))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := client.Disconnect(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return client.Database(known.Database)
}

// walk reads each element of a BSON document, and of those in it, and counts
// them.
func walk(doc []byte) (n int) {
	for rest := doc[4:]; rest[0] != 0; n++ {
		kind := bson.Type(rest[0])
		name := 1
		for rest[name] != 0 {
			name++
		}
		rest = rest[name+1:]
		size := 0
		switch kind {
		case bson.TypeDouble, bson.TypeInt64, bson.TypeDateTime:
			size = 8
		case bson.TypeInt32:
			size = 4
		case bson.TypeBoolean:
			size = 1
		case bson.TypeString:
			size = 4 + int(binary.LittleEndian.Uint32(rest))
		case bson.TypeEmbeddedDocument, bson.TypeArray:
			size = int(binary.LittleEndian.Uint32(rest))
			n += walk(rest[:size])
		}
		rest = rest[size:]
	}
	return n
}

// commands is a monitor that notes commands while it is on.
type commands struct {
	on    atomic.Bool
	mu    sync.Mutex
	began time.Time
	names map[int64]string
	text  strings.Builder
	n     int
}

func (c *commands) monitor() *event.CommandMonitor {
	ended := func(id int64, took time.Duration) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if name, noted := c.names[id]; noted {
			c.n++
			fmt.Fprintf(&c.text, "%7.2f ms  %6.2f ms  %s\n", milliseconds(time.Since(c.began)-took), milliseconds(took), name)
		}
	}
	return &event.CommandMonitor{
		Started: func(_ context.Context, e *event.CommandStartedEvent) {
			if !c.on.Load() {
				return
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			collection, _ := e.Command.Lookup(e.CommandName).StringValueOK()
			c.names[e.RequestID] = fmt.Sprintf("%s %s, %d bytes", e.CommandName, collection, len(e.Command))
		},
		Succeeded: func(_ context.Context, e *event.CommandSucceededEvent) { ended(e.RequestID, e.Duration) },
		Failed:    func(_ context.Context, e *event.CommandFailedEvent) { ended(e.RequestID, e.Duration) },
	}
}

// during lists the commands of a call.
func (c *commands) during(call func() time.Duration) (list string, n int) {
	c.mu.Lock()
	c.names, c.n, c.began = map[int64]string{}, 0, time.Now()
	c.text.Reset()
	c.mu.Unlock()
	c.on.Store(true)
	took := call()
	c.on.Store(false)
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("%s%7.2f ms in all\n", c.text.String(), milliseconds(took)), c.n
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

// BenchmarkMongoDBCommands counts the commands of a collection write, of a page and of
// requests for one object, and with -v lists them: when each began, and how long it
// took.
func BenchmarkMongoDBCommands(b *testing.B) {
	noted := &commands{}
	s, _ := onMongoDB(b, noted.monitor())
	s.load(b, 5000, 10)
	next, created := 10_000, 50_000_000
	write := func() time.Duration {
		next += 1000
		return s.post(b, lineItems(next, 0))
	}
	page := func() time.Duration { return s.page(b, "/api/v1/lineitems?context=main") }
	create := func() time.Duration {
		created++
		return s.post(b, []any{lineItem(created, 10)})
	}
	update := func() time.Duration {
		changed := lineItem(created, 10)
		changed["name"] = fmt.Sprint("Changed in ", time.Now())
		return s.post(b, []any{changed})
	}
	get := func() time.Duration { return s.page(b, "/api/v1/lineitems/li-00000001?context=main") }
	uncounted := func() time.Duration { return s.page(b, "/api/v1/lineitems?context=main&count=false") }
	interleaved(3, write, page)
	interleaved(3, write, uncounted)
	page()
	interleaved(3, create, get)
	update()
	for i := range b.N {
		for _, call := range []struct {
			name string
			run  func() time.Duration
		}{{"write", write}, {"page", page}, {"page-again", page}, {"page-uncounted", uncounted}, {"create", create}, {"update", update}, {"get", get}} {
			list, n := noted.during(call.run)
			b.ReportMetric(float64(n), "commands/"+call.name)
			if i == b.N-1 && testing.Verbose() { // b.Log leaves out what is behind ten lines
				fmt.Printf("\n# %s\n%s", call.name, list)
			}
		}
	}
}
