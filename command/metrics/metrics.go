// Package metrics shows what a server does in the text format of Prometheus. It reads the
// state of the server when it is asked, and imports package marquee, auth and the engine; it
// is the only package that imports Prometheus's client library. Begin with New, and with
// families.go, which lists the metrics.
package metrics

import (
	"bytes"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"

	"marquee"
	"marquee/engine/rest"
)

// Program is what runs.
type Program struct {
	Version, Application string
	// Expires returns when the certificate of TLS expires; nil is without TLS.
	Expires func() time.Time
}

// Reloads counts the sets of schemas that were read while serving.
type Reloads struct{ Served, Refused, Failed int64 }

// State is what a server knows beside marquee.Server.
type State struct {
	// Set is the number of the set of schemas that is served, 0 for none.
	Set int64
	// Refused reports whether a later set was refused.
	Refused bool
	Reloads Reloads
	// LastBackup is when the last good backup of an SQLite store began, and BackupAge the age
	// from which it is too old; zero is none.
	LastBackup time.Time
	BackupAge  time.Duration
}

// Metrics are the metrics of a server, which may be starting.
type Metrics struct {
	program Program
	meter   *rest.Meter
	front   *rest.Server
	cluster bool
	serving atomic.Pointer[serving]

	registry *prometheus.Registry
	mu       sync.Mutex
	// text is what was read last, until fresh.
	text  []byte
	fresh time.Time
}

type serving struct {
	*marquee.Server
	state func() State
}

// New returns the metrics of a server whose requests a meter counts, and whose connections
// are those of its front. Cluster reports whether its store is on servers.
func New(program Program, meter *rest.Meter, front *rest.Server, cluster bool) *Metrics {
	m := &Metrics{program: program, meter: meter, front: front, cluster: cluster, registry: prometheus.NewRegistry()}
	m.registry.MustRegister(m, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Serve adds the server when it has started, and a function that returns its state.
func (m *Metrics) Serve(s *marquee.Server, state func() State) {
	m.serving.Store(&serving{s, state})
}

// What was read is shown again for restPart times as long as reading it has taken, but at most
// for maxRest: that bounds the processor time of scrapes, however often somebody asks, and the
// age of what is shown on a machine where reading takes long.
const (
	restPart = 20
	maxRest  = 10 * time.Second
)

// ServeHTTP shows the metrics.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, err := m.read()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", string(expfmt.NewFormat(expfmt.TypeTextPlain)))
	_, _ = w.Write(text) // an error means that the client is gone
}

// read returns the metrics as a text.
func (m *Metrics) read() ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	began := time.Now()
	if began.Before(m.fresh) {
		return m.text, nil
	}
	families, err := m.registry.Gather()
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	encoder := expfmt.NewEncoder(&text, expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, family := range families {
		if err := encoder.Encode(family); err != nil {
			return nil, err
		}
	}
	now := time.Now()
	m.text, m.fresh = text.Bytes(), now.Add(min(restPart*now.Sub(began), maxRest))
	return m.text, nil
}
