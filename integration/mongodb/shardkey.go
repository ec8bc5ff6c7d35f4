package mongodb

import (
	"context"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
)

// ShardKeys is a monitor that fails the test on what a sharded cluster could
// not do well, or not at all: a find, update, delete, aggregate, count or
// distinct that does not name the shard key, and a unique index. The shard key
// of all collections is in the _id.
func ShardKeys(tb testing.TB) *event.CommandMonitor {
	return &event.CommandMonitor{Started: func(_ context.Context, started *event.CommandStartedEvent) {
		for _, fault := range shardKeyFaults(started.CommandName, started.Command) {
			tb.Errorf("%s: %s", fault, started.Command)
		}
	}}
}

func shardKeyFaults(name string, command bson.Raw) (faults []string) {
	check := func(filter bson.RawValue) {
		if doc, ok := filter.DocumentOK(); !ok || !namesShardKey(doc) {
			faults = append(faults, name+" does not name the shard key")
		}
	}
	each := func(list string, use func(bson.Raw)) {
		values, _ := command.Lookup(list).Array().Values()
		for _, value := range values {
			use(value.Document())
		}
	}
	switch name {
	case "find":
		check(command.Lookup("filter"))
	case "count", "distinct", "findAndModify":
		check(command.Lookup("query"))
	case "update":
		each("updates", func(update bson.Raw) { check(update.Lookup("q")) })
	case "delete":
		each("deletes", func(one bson.Raw) { check(one.Lookup("q")) })
	case "aggregate":
		// These two do not read a collection by its records.
		first := command.Lookup("pipeline", "0").Document()
		if name := firstKey(first); name != "$changeStream" && name != "$currentOp" {
			check(first.Lookup("$match"))
		}
	case "createIndexes":
		each("indexes", func(index bson.Raw) {
			if unique, ok := index.Lookup("unique").BooleanOK(); ok && unique {
				faults = append(faults, "an index is unique")
			}
		})
	}
	return faults
}

func firstKey(doc bson.Raw) string {
	first, err := doc.IndexErr(0)
	if err != nil {
		return ""
	}
	return first.Key()
}

// namesShardKey reports whether a condition is on the _id or a part of it that
// the shard key begins with; of alternatives, all must be.
func namesShardKey(filter bson.Raw) bool {
	elements, _ := filter.Elements()
	for _, e := range elements {
		switch name := e.Key(); {
		case name == "_id", name == "_id.network", strings.HasPrefix(name, "_id.collection"):
			return true
		case name == "$and":
			parts, _ := e.Value().Array().Values()
			for _, part := range parts {
				if namesShardKey(part.Document()) {
					return true
				}
			}
		case name == "$or":
			parts, _ := e.Value().Array().Values()
			all := len(parts) > 0
			for _, part := range parts {
				all = all && namesShardKey(part.Document())
			}
			if all {
				return true
			}
		}
	}
	return false
}
