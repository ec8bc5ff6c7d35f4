package mongo

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/integration/mongodb"
)

func TestUncommitted(t *testing.T) {
	for configuration, percent := range map[string]int64{
		"":                          20,
		"log=(file_max=16MB)":       20,
		"eviction_dirty_trigger=80": 80,
		"log=(file_max=16MB),eviction_dirty_trigger=50,eviction_updates_trigger=90": 50,
		"eviction_dirty_trigger=50,eviction_dirty_trigger=80":                       80,
		"eviction_dirty_target=10":                                                  20,
	} {
		if got := uncommitted(1000, configuration); got != percent*10 {
			t.Errorf("%q: %d of 1000", configuration, got)
		}
	}
}

func TestUpdatesInCache(t *testing.T) {
	for configuration, percent := range map[string]int64{
		"":                            10,
		"eviction_dirty_trigger=80":   40,
		"eviction_updates_trigger=0":  10,
		"eviction_updates_trigger=30": 30,
		"eviction_dirty_trigger=80,eviction_updates_trigger=80": 80,
	} {
		if got := updates(1000, configuration); got != percent*10 {
			t.Errorf("%q: %d of 1000", configuration, got)
		}
	}
}

// TestWindowOfCache checks that the window is limited by the cache of the
// primary.
func TestWindowOfCache(t *testing.T) {
	t.Parallel()
	set := mongodb.NewReplicaSet(t, 1) // whose cache is 4 GB, with triggers of 80 %
	most := func() float64 { return openTest(t, Options{URI: set.URI("window")}).admission.most }
	if got := most(); got != mostWindow {
		t.Errorf("a large cache: the window grows to %v", got)
	}
	err := set.Client().Database("admin").RunCommand(t.Context(), bson.D{{Key: "setParameter", Value: 1},
		{Key: "wiredTigerEngineRuntimeConfig", Value: "cache_size=100M"}}).Err()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := most(), float64(100<<20/100*80/2); got != want {
		t.Errorf("a small cache: the window grows to %v instead of %v", got, want)
	}
}

// TestSmallCache checks that operators are warned of a cache that is too small
// for the largest uploads, and only then.
func TestSmallCache(t *testing.T) {
	t.Parallel()
	set := mongodb.NewReplicaSet(t, 1) // whose cache is 4 GB, of which 80 % may be uncommitted
	open := func() (note, log string) {
		var lines bytes.Buffer
		s := openTest(t, Options{URI: set.URI("cache"), Log: slog.New(slog.NewTextHandler(&lines, nil))})
		return s.Note(), lines.String()
	}
	if note, log := open(); note != "" || log != "" {
		t.Errorf("a large cache: note %q, log %q", note, log)
	}
	err := set.Client().Database("admin").RunCommand(t.Context(), bson.D{{Key: "setParameter", Value: 1},
		{Key: "wiredTigerEngineRuntimeConfig", Value: "cache_size=1G"}}).Err()
	if err != nil {
		t.Fatal(err)
	}
	if note, log := open(); !strings.Contains(note, "1024 MiB") || !strings.Contains(log, "level=WARN") {
		t.Errorf("a small cache: note %q, log %q", note, log)
	}
}
