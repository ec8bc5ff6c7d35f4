package sqlite

import (
	"os"
	"sync/atomic"
	"time"

	"marquee/engine/histogram"
	"marquee/engine/store"
)

// measured counts what the store does.
type measured struct {
	again                       atomic.Int64
	groups, commits             *histogram.Histogram
	writeWaits, connectionWaits *histogram.Histogram
}

func newMeasured() measured {
	return measured{groups: histogram.Sizes(), commits: histogram.Durations(),
		writeWaits: histogram.Durations(), connectionWaits: histogram.Durations()}
}

// waited notes how long a call has waited for its turn.
func waited(in *histogram.Histogram, effort store.Effort, d time.Duration) {
	in.Add(int64(d))
	if effort.Waited != nil {
		effort.Waited.Add(int64(d))
	}
}

// Stats implements store.Reporter.
func (s *Store) Stats() store.Stats {
	file := &store.FileStats{Size: sizeOf(s.options.Path), LogSize: sizeOf(s.options.Path + "-wal"), Readers: int64(s.options.Readers)}
	file.Reading = file.Readers - int64(s.readers.unused())
	return store.Stats{
		Transactions: s.writer.transactions.Load(), Again: s.measured.again.Load(),
		Groups: s.measured.groups.Counts(), Commits: s.measured.commits.Counts(),
		WriteWaits: s.measured.writeWaits.Counts(), ConnectionWaits: s.measured.connectionWaits.Counts(),
		Waiting: int64(s.writer.queue.len()), File: file,
	}
}

// sizeOf returns the size of a file, 0 if there is none.
func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
