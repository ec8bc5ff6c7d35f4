package mongodb

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

func TestShardKeyFaults(t *testing.T) {
	network := bson.D{{Key: "_id.network", Value: "n"}}
	other := bson.D{{Key: "state", Value: "ACTIVE"}}
	either := func(parts ...bson.D) bson.D { return bson.D{{Key: "$or", Value: parts}} }
	for name, c := range map[string]struct {
		command bson.D
		faults  int
	}{
		"find by network":      {bson.D{{Key: "find", Value: "c"}, {Key: "filter", Value: append(network, other...)}}, 0},
		"find by _id":          {bson.D{{Key: "find", Value: "c"}, {Key: "filter", Value: bson.D{{Key: "_id", Value: 1}}}}, 0},
		"find by state":        {bson.D{{Key: "find", Value: "c"}, {Key: "filter", Value: other}}, 1},
		"find without filter":  {bson.D{{Key: "find", Value: "c"}}, 1},
		"find by either":       {bson.D{{Key: "find", Value: "c"}, {Key: "filter", Value: either(network, other)}}, 1},
		"find by both":         {bson.D{{Key: "find", Value: "c"}, {Key: "filter", Value: either(network, network)}}, 0},
		"updates":              {bson.D{{Key: "update", Value: "c"}, {Key: "updates", Value: bson.A{bson.D{{Key: "q", Value: network}}, bson.D{{Key: "q", Value: other}}}}}, 1},
		"delete":               {bson.D{{Key: "delete", Value: "c"}, {Key: "deletes", Value: bson.A{bson.D{{Key: "q", Value: bson.D{}}}}}}, 1},
		"count":                {bson.D{{Key: "count", Value: "c"}, {Key: "query", Value: other}}, 1},
		"aggregate":            {bson.D{{Key: "aggregate", Value: "c"}, {Key: "pipeline", Value: bson.A{bson.D{{Key: "$match", Value: other}}}}}, 1},
		"aggregate by network": {bson.D{{Key: "aggregate", Value: "c"}, {Key: "pipeline", Value: bson.A{bson.D{{Key: "$match", Value: network}}}}}, 0},
		"change stream":        {bson.D{{Key: "aggregate", Value: "c"}, {Key: "pipeline", Value: bson.A{bson.D{{Key: "$changeStream", Value: bson.D{}}}}}}, 0},
		"open transactions":    {bson.D{{Key: "aggregate", Value: 1}, {Key: "pipeline", Value: bson.A{bson.D{{Key: "$currentOp", Value: bson.D{}}}}}}, 0},
		"unique index":         {bson.D{{Key: "createIndexes", Value: "c"}, {Key: "indexes", Value: bson.A{bson.D{{Key: "unique", Value: true}}, bson.D{}}}}, 1},
		"others":               {bson.D{{Key: "ping", Value: 1}}, 0},
	} {
		raw, err := bson.Marshal(c.command)
		if err != nil {
			t.Fatal(err)
		}
		if faults := shardKeyFaults(c.command[0].Key, raw); len(faults) != c.faults {
			t.Errorf("%s: %q", name, faults)
		}
	}
}
