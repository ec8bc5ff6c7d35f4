package store

import "marquee/engine/histogram"

// Stats are what a store has done since it was opened, and its state at present.
type Stats struct {
	// Transactions is the number of transactions that were committed with writes, and Again
	// how often the function of a Write ran again.
	Transactions, Again int64
	// Groups are the numbers of calls of Write that were committed together, and Commits how
	// long commits took, in nanoseconds.
	Groups, Commits histogram.Counts
	// WriteWaits are the nanoseconds that calls of Write have waited for their turn, and
	// ConnectionWaits those that calls have waited for a connection to the file or the servers.
	// Waiting is the number of calls of Write that wait.
	WriteWaits, ConnectionWaits histogram.Counts
	Waiting                     int64
	// File is the state of a store in a file, and Cluster of one on servers; the other one is
	// nil.
	File    *FileStats
	Cluster *ClusterStats
}

// FileStats are the state of a store in a file.
type FileStats struct {
	// Size and LogSize are those of the file and of its write-ahead log, in bytes.
	Size, LogSize int64
	// Readers is the number of connections for reads, and Reading of those that are in use.
	Readers, Reading int64
}

// ClusterStats are the state of a store on servers.
type ClusterStats struct {
	// Connections is the number of connections to the servers, and InUse of those that are
	// being used.
	Connections, InUse int64
	// Window is the number of bytes that large transactions may have in the caches of the
	// servers together, and Held what they have.
	Window, Held int64
	// Lag is by how many nanoseconds the secondary that is furthest behind lacks what the
	// primary has written, as of its last heartbeat.
	Lag int64
}

// Reporter is implemented by stores that have Stats.
type Reporter interface{ Stats() Stats }
