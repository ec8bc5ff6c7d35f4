package mongo

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"
)

const (
	// largestUncommitted is the space that the largest transaction takes in the
	// cache: 100,000 objects of 1,300 bytes, each 13 KB with its history, 22 index
	// entries and oplog entry.
	largestUncommitted = 1_350 << 20
	// dirtyTrigger is the default percentage of a cache that uncommitted data
	// may take.
	dirtyTrigger = 20
)

// uncommitted returns how much uncommitted data a cache holds with a
// configuration of the storage engine.
func uncommitted(cache int64, configuration string) int64 {
	return cache / 100 * trigger(dirtyTriggers, configuration, dirtyTrigger)
}

// updates returns how much of that may be updates without their pages: by
// default half. Beyond that, writers have to evict pages.
func updates(cache int64, configuration string) int64 {
	half := trigger(dirtyTriggers, configuration, dirtyTrigger) / 2
	return cache / 100 * trigger(updatesTriggers, configuration, half)
}

var (
	dirtyTriggers   = regexp.MustCompile(`(?:^|,)\s*eviction_dirty_trigger=(\d+)`)
	updatesTriggers = regexp.MustCompile(`(?:^|,)\s*eviction_updates_trigger=(\d+)`)
)

// trigger returns a percentage of a configuration, in which the last value
// counts; 0 means the default.
func trigger(name *regexp.Regexp, configuration string, byDefault int64) int64 {
	percent := byDefault
	if all := name.FindAllStringSubmatch(configuration, -1); all != nil {
		if last, _ := strconv.ParseInt(all[len(all)-1][1], 10, 64); last > 0 {
			percent = last
		}
	}
	return min(percent, 100)
}

// checkCache sizes the admission of large transactions by the cache of the
// primary, and sets the note when the cache is too small for the largest one.
// It does nothing on a sharded cluster, or for a user without the permission to
// ask.
func (s *Store) checkCache(ctx context.Context, log *slog.Logger) {
	admin := s.client.Database("admin")
	var status struct {
		WiredTiger struct {
			Cache struct {
				Maximum int64 `bson:"maximum bytes configured"`
			}
		} `bson:"wiredTiger"`
	}
	var options struct {
		Parsed struct {
			Storage struct {
				WiredTiger struct {
					EngineConfig struct {
						ConfigString string `bson:"configString"`
					} `bson:"engineConfig"`
				} `bson:"wiredTiger"`
			}
		}
	}
	if admin.RunCommand(ctx, bson.D{{Key: "serverStatus", Value: 1}}).Decode(&status) != nil || status.WiredTiger.Cache.Maximum == 0 ||
		admin.RunCommand(ctx, bson.D{{Key: "getCmdLineOpts", Value: 1}}).Decode(&options) != nil {
		return
	}
	cache, configuration := status.WiredTiger.Cache.Maximum, options.Parsed.Storage.WiredTiger.EngineConfig.ConfigString
	// The other half is for updates that are committed but not yet evicted.
	s.admission.fit(updates(cache, configuration) / 2)
	if holds := uncommitted(cache, configuration); holds < largestUncommitted {
		s.note = fmt.Sprintf("the MongoDB cache of %d MiB can hold %d MiB of uncommitted data; the largest uploads need up to %d MiB, and those that do not fit are refused",
			cache>>20, holds>>20, int64(largestUncommitted)>>20)
		log.Warn("the cache of MongoDB is too small for the largest uploads", slog.Int64("cacheMiB", cache>>20),
			slog.Int64("uncommittedMiB", holds>>20), slog.Int64("neededMiB", largestUncommitted>>20))
	}
}

// Note returns a message about the deployment for operators, or "".
func (s *Store) Note() string { return s.note }
