package store

import "time"

// InternalWrite returns the write of a record that the service keeps for itself. Was
// is the stored record or, for a new one, a record with the key alone.
func InternalWrite(was Record, state string, document []byte, now time.Time) Write {
	now = now.UTC().Truncate(time.Millisecond)
	record := Record{Key: was.Key, State: state, CreateTime: was.CreateTime, UpdateTime: now, Document: document}
	if was.Revision == 0 {
		record.CreateTime = now
	}
	return Write{Record: record, Expected: was.Revision, Was: was.State}
}
