package metrics

import (
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"marquee/auth"
	"marquee/auth/cache"
	"marquee/engine/budget"
	"marquee/engine/histogram"
	"marquee/engine/rest"
	"marquee/engine/store"
)

// family is a metric with all of its series.
type family struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

// families are all metrics but those of the Go runtime and the process.
var families []family

func declare(kind prometheus.ValueType, name, help string, labels ...string) family {
	f := family{prometheus.NewDesc("marquee_"+name, help, labels, nil), kind}
	families = append(families, f)
	return f
}

func counter(name, help string, labels ...string) family {
	return declare(prometheus.CounterValue, name, help, labels...)
}

func gauge(name, help string, labels ...string) family {
	return declare(prometheus.GaugeValue, name, help, labels...)
}

// distribution declares a histogram.
func distribution(name, help string, labels ...string) family {
	return declare(prometheus.UntypedValue, name, help, labels...)
}

var (
	buildInfo = gauge("build_info", "1, with the version of the program, that of Go, the application, and the kind of the store.", "version", "goversion", "application", "store")
	started   = gauge("started", "1 when the start is complete, 0 before.")

	clock     = gauge("time_seconds", "Time of the server's clock, as a Unix time.")
	tlsExpiry = gauge("tls_certificate_expiry_timestamp_seconds", "When the certificate that is served expires, as a Unix time; 0 without TLS.")

	requests       = counter("requests_total", "Requests, by what they do and the class of the status.", "operation", "status")
	requestSeconds = distribution("request_duration_seconds", "Time that requests have taken.", "operation")
	requestWaits   = distribution("request_wait_seconds", "Time that requests have waited for a share of the memory budget, and for their turn in the store.", "for")
	requestsNow    = gauge("requests_in_progress", "Requests that are being served.")
	typeRequests   = counter("type_requests_total", "Requests for objects of a type.", "type", "operation")

	memoryBytes   = gauge("memory_budget_bytes", "Size of the memory budget of requests, by its part.", "part")
	memoryUsed    = gauge("memory_budget_used_bytes", "Memory that requests use of it.", "part")
	memoryWaiting = gauge("memory_budget_waiting", "Requests that wait for memory.")
	memoryRefused = counter("memory_budget_refused_total", "Requests that got no memory.")

	rateLimited = counter("rate_limited_total", "Requests that were refused by a rate limit.", "limit")

	spoolBytes   = gauge("spool_budget_bytes", "Maximum size of all temporary files together.")
	spoolUsed    = gauge("spool_used_bytes", "Size of the temporary files, by where they are.", "in")
	spoolRefused = counter("spool_refused_total", "Writes to temporary files for which there was no room.")

	connectionsMost    = gauge("connections_max", "Maximum number of open connections.")
	connectionsOpen    = gauge("connections_open", "Open connections.")
	connectionsHTTP2   = gauge("connections_http2", "Open connections that use HTTP/2.")
	connectionsStreams = gauge("connections_http2_streams", "Requests over HTTP/2 that are being served.")
	connectionsRefused = counter("connections_refused_total", "Connections, and requests over HTTP/2, that were refused for a limit of connections.")

	streamsMost      = gauge("change_streams_max", "Maximum number of requests that stream changes or wait for them.")
	streamsOpen      = gauge("change_streams_open", "Requests that stream changes or wait for them.")
	streamsFollowing = gauge("change_streams_following", "1 while the changes of the store are read for these requests, 0 otherwise.")

	storeTransactions = counter("store_transactions_total", "Transactions that were committed with writes.")
	storeAgain        = counter("store_transaction_retries_total", "Times that a transaction ran again, after a conflict or the failure of a group.")
	storeGroups       = distribution("store_group_transactions", "Transactions that were committed together.")
	storeCommits      = distribution("store_commit_duration_seconds", "Time that commits have taken.")
	storeWrites       = distribution("store_write_wait_seconds", "Time that transactions have waited for their turn.")
	storeConnections  = distribution("store_connection_wait_seconds", "Time that reads of an SQLite file have waited for one of its connections, and commands of MongoDB for a connection of the pool.")
	storeWaiting      = gauge("store_writes_waiting", "Transactions that wait for their turn.")

	fileBytes    = gauge("sqlite_file_bytes", "Size of the SQLite file.")
	fileLogBytes = gauge("sqlite_wal_bytes", "Size of its write-ahead log.")
	fileReaders  = gauge("sqlite_readers_max", "Connections for reads.")
	fileReading  = gauge("sqlite_readers_in_use", "Connections for reads that are in use.")

	backupTime = gauge("backup_last_timestamp_seconds", "When the last good backup of the SQLite store began, as a Unix time; 0 for none.")
	backupAge  = gauge("backup_max_age_seconds", "--backup-age, from which the last good backup is too old; 0 for none.")

	clusterConnections = gauge("mongodb_connections", "Connections to the servers of MongoDB.")
	clusterInUse       = gauge("mongodb_connections_in_use", "Connections to the servers of MongoDB that are in use.")
	clusterWindow      = gauge("mongodb_window_bytes", "What large transactions may have in the caches of the servers together, as this server has found out.")
	clusterHeld        = gauge("mongodb_window_used_bytes", "What large transactions of this server have there.")
	clusterLag         = gauge("mongodb_replication_lag_seconds", "How far the secondary that is furthest behind is behind the primary, as of the last heartbeats.")

	cacheRequests = counter("cache_requests_total", "Values that were wanted from a cache, by whether it had them.", "cache", "result")

	schemaSet     = gauge("schema_set", "Number of the set of schemas that is served, 0 for one without a number.")
	schemaTypes   = gauge("schema_types", "Types that are served.")
	schemaRefused = gauge("schema_refused", "1 while a later set of schemas is refused, 0 otherwise.")
	schemaReloads = counter("schema_reloads_total", "Sets of schemas that were read while serving, by what became of them.", "result")

	followingChanged = gauge("following_changes", "Changed objects whose dependants have not all been updated, as this server last saw.")
	followingSeconds = gauge("following_oldest_seconds", "For how long the oldest of them has waited.")

	historyRemoved = counter("history_removed_total", "Changes that this server has removed because they are older than --history-days.")

	signIns = counter("sign_ins_total", "Sign-ins and refreshed sessions, by result.", "result")
)

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	for _, f := range families {
		to <- f.desc
	}
}

// collected sends values of metrics.
type collected chan<- prometheus.Metric

func (c collected) value(f family, value float64, labels ...string) {
	c <- prometheus.MustNewConstMetric(f.desc, f.kind, value, labels...)
}

// counts sends a histogram. Unit is the number of its values in one of the metric.
func (c collected) counts(f family, counts histogram.Counts, unit float64, labels ...string) {
	buckets := make(map[float64]uint64, len(counts.Bounds))
	for i, bound := range counts.Bounds {
		buckets[float64(bound)/unit] = counts.Below[i]
	}
	c <- prometheus.MustNewConstHistogram(f.desc, counts.Count, float64(counts.Sum)/unit, buckets, labels...)
}

// nanoseconds is the unit of durations.
const nanoseconds = float64(time.Second)

// noDurations and noSizes are the histograms of a store that is not open yet.
var noDurations, noSizes = histogram.Durations().Counts(), histogram.Sizes().Counts()

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	c, s := collected(to), m.serving.Load()
	kind := "sqlite"
	if m.cluster {
		kind = "mongodb"
	}
	c.value(buildInfo, 1, m.program.Version, runtime.Version(), m.program.Application, kind)
	c.value(started, truth(s != nil))
	c.value(clock, seconds(time.Now()))
	var expires time.Time
	if m.program.Expires != nil {
		expires = m.program.Expires()
	}
	c.value(tlsExpiry, seconds(expires))
	c.requests(m.meter)
	shared, front := rest.Stats{}, m.front.Stats()
	var stored store.Stats
	var signed auth.Stats
	var state State
	var types, changed, oldest, removed float64
	if s != nil {
		shared, signed, state = s.Stats(), s.Auth().Stats(), s.state()
		if reporter, ok := s.Store().(store.Reporter); ok {
			stored = reporter.Stats()
		}
		all := s.Engine().Registry().Types()
		for _, t := range all {
			name := t.Served().Name
			m.meter.OfType(name, func(o rest.Operation, n uint64) { c.value(typeRequests, float64(n), name, o.String()) })
		}
		types, removed = float64(len(all)), float64(s.Engine().RemovedHistory())
		if following := s.Engine().Following(); following.Changed > 0 {
			changed, oldest = float64(following.Changed), max(0, time.Since(following.Since).Seconds())
		}
	} else {
		shared = front
	}
	shared.Connections = front.Connections
	c.shared(shared)
	c.store(stored, m.cluster)
	if !m.cluster {
		c.backups(state)
	}
	for name, stats := range map[string]cache.Stats{"users": signed.Users, "sessions": signed.Sessions, "tokens": signed.Tokens} {
		c.value(cacheRequests, float64(stats.Hits), name, "hit")
		c.value(cacheRequests, float64(stats.Misses), name, "miss")
	}
	c.value(schemaSet, float64(state.Set))
	c.value(schemaTypes, types)
	c.value(schemaRefused, truth(state.Refused))
	c.value(schemaReloads, float64(state.Reloads.Served), "served")
	c.value(schemaReloads, float64(state.Reloads.Refused), "refused")
	c.value(schemaReloads, float64(state.Reloads.Failed), "failed")
	c.value(followingChanged, changed)
	c.value(followingSeconds, oldest)
	c.value(historyRemoved, removed)
	c.value(signIns, float64(signed.Accepted), "accepted")
	c.value(signIns, float64(signed.Refused), "refused")
	c.value(signIns, float64(signed.Limited), "limited")
}

func (c collected) backups(state State) {
	c.value(backupTime, seconds(state.LastBackup))
	c.value(backupAge, state.BackupAge.Seconds())
}

// seconds is a Unix time, 0 for the zero time.
func seconds(at time.Time) float64 {
	if at.IsZero() {
		return 0
	}
	return float64(at.UnixMilli()) / 1000
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func (c collected) requests(meter *rest.Meter) {
	for _, o := range rest.Operations() {
		for class := 1; class <= rest.StatusClasses; class++ {
			c.value(requests, float64(meter.Requests(o, class)), o.String(), strconv.Itoa(class)+"xx")
		}
		c.counts(requestSeconds, meter.Took(o), nanoseconds, o.String())
	}
	c.counts(requestWaits, meter.WaitedForMemory(), nanoseconds, "memory")
	c.counts(requestWaits, meter.WaitedForStore(), nanoseconds, "store")
	c.value(requestsNow, float64(meter.Running()))
}

func (c collected) shared(stats rest.Stats) {
	for part, b := range map[string]budget.Stats{"work": stats.Work, "responses": stats.Outboxes} {
		c.value(memoryBytes, float64(b.Total), part)
		c.value(memoryUsed, float64(b.Used), part)
	}
	c.value(memoryWaiting, float64(stats.Work.Waiting))
	c.value(memoryRefused, float64(stats.Work.Refused))
	c.value(rateLimited, float64(stats.CallerLimited), "caller")
	c.value(rateLimited, float64(stats.AddressLimited), "address")
	c.value(spoolBytes, float64(stats.Spool.Budget))
	c.value(spoolUsed, float64(stats.Spool.Used), "disk")
	c.value(spoolUsed, float64(stats.Spool.Memory), "memory")
	c.value(spoolRefused, float64(stats.Spool.Refused))
	c.value(connectionsMost, float64(stats.Connections.Limit))
	c.value(connectionsOpen, float64(stats.Connections.Open))
	c.value(connectionsHTTP2, float64(stats.Connections.Multiplexed))
	c.value(connectionsStreams, float64(stats.Connections.Streams))
	c.value(connectionsRefused, float64(stats.Connections.Refused))
	c.value(streamsMost, float64(stats.StreamsLimit))
	c.value(streamsOpen, float64(stats.Streams))
	c.value(streamsFollowing, truth(stats.Following))
}

func (c collected) store(stats store.Stats, cluster bool) {
	if stats.Commits.Bounds == nil {
		stats.Groups, stats.Commits, stats.WriteWaits, stats.ConnectionWaits = noSizes, noDurations, noDurations, noDurations
	}
	c.value(storeTransactions, float64(stats.Transactions))
	c.value(storeAgain, float64(stats.Again))
	c.counts(storeGroups, stats.Groups, 1)
	c.counts(storeCommits, stats.Commits, nanoseconds)
	c.counts(storeWrites, stats.WriteWaits, nanoseconds)
	c.counts(storeConnections, stats.ConnectionWaits, nanoseconds)
	c.value(storeWaiting, float64(stats.Waiting))
	if cluster {
		of := stats.Cluster
		if of == nil {
			of = &store.ClusterStats{}
		}
		c.value(clusterConnections, float64(of.Connections))
		c.value(clusterInUse, float64(of.InUse))
		c.value(clusterWindow, float64(of.Window))
		c.value(clusterHeld, float64(of.Held))
		c.value(clusterLag, float64(of.Lag)/nanoseconds)
		return
	}
	of := stats.File
	if of == nil {
		of = &store.FileStats{}
	}
	c.value(fileBytes, float64(of.Size))
	c.value(fileLogBytes, float64(of.LogSize))
	c.value(fileReaders, float64(of.Readers))
	c.value(fileReading, float64(of.Reading))
}
