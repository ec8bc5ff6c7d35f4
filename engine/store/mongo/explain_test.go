package mongo

import (
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/engine/query"
	"marquee/engine/store"
	"marquee/engine/store/mongo/plan"
	"marquee/engine/store/mongo/record"
	"marquee/engine/store/storetest"
)

// explainQuery returns how MongoDB answered a query.
func explainQuery(t testing.TB, opened store.Store, q query.Query, count bool) storetest.Plan {
	t.Helper()
	s := opened.(*Store)
	c := plan.Compile(q)
	var matching int64
	var hint string
	if err := s.Read(t.Context(), func(snapshot store.Snapshot) (err error) {
		if matching, err = snapshot.Count(t.Context(), q); err == nil {
			hint, err = snapshot.(*view).chooseIndex(t.Context(), c, count)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	byID := hint == plan.IndexID
	byTerms := slices.ContainsFunc(query.Conjuncts(q.Where), func(e query.Expr) bool {
		terms, ok := query.TermsOf(e)
		return ok && !terms.Ordered()
	})
	var plan storetest.Plan
	if count {
		command := bson.D{{Key: "aggregate", Value: q.Collection}, {Key: "pipeline", Value: countPipeline(c.Filter(), 0)}, {Key: "cursor", Value: bson.D{}}}
		if hint != "" {
			command = append(command, bson.E{Key: "hint", Value: hint})
		}
		did := explain(t, s, command)
		// A count reads only the index; at most half of its entries are hidden.
		plan.Scans = did.walksAll || (did.filters || did.records > 0) && !byID || did.keys > 2*matching+20
		plan.Text = did.text
		return plan
	}
	remaining := q.Limit
	for _, segment := range c.Segments() {
		if remaining == 0 {
			break
		}
		f := c.Find(segment, remaining, hint)
		did := explain(t, s, findCommand(f, q.Collection))
		wanted := did.returned
		if did.sorts || byTerms { // records of a common term are found by reading the order
			wanted = matching
		}
		// An index that answers a query leaves no condition for the records,
		// except that a value is absent, which an index does not show.
		looks := did.filters && q.After == nil && !byID && !byTerms
		plan.Scans = plan.Scans || did.walksAll || looks || did.records > wanted || did.keys > 2*wanted+20
		plan.Sorts = plan.Sorts || did.sorts
		plan.Text += did.text + "\n"
		remaining -= int(did.returned)
	}
	return plan
}

// findCommand returns a find as a command.
func findCommand(f plan.Find, collection string) bson.D {
	command := bson.D{{Key: "find", Value: collection}, {Key: "filter", Value: f.Filter}, {Key: "sort", Value: f.Sort},
		{Key: "skip", Value: f.Skip}, {Key: "limit", Value: f.Limit}, {Key: "projection", Value: record.Fields}}
	if f.Hint != "" {
		command = append(command, bson.E{Key: "hint", Value: f.Hint})
	}
	return command
}

// execution is what MongoDB reports about a command that it has run.
type execution struct {
	text                    string
	walksAll, sorts         bool
	filters                 bool // whether records are read and then filtered
	returned, records, keys int64
}

func explain(t testing.TB, s *Store, command bson.D) (did execution) {
	t.Helper()
	raw, err := s.db.RunCommand(t.Context(), bson.D{{Key: "explain", Value: command}, {Key: "verbosity", Value: "executionStats"}}).Raw()
	if err != nil {
		t.Fatal(err)
	}
	did.text = raw.String()
	if stages, err := raw.LookupErr("stages", "0", "$cursor"); err == nil { // of an aggregation that is not one find
		raw = bson.Raw(stages.Value)
	}
	number := func(name string) int64 {
		n, ok := raw.Lookup("executionStats", name).AsInt64OK()
		if !ok {
			t.Fatalf("no %s in %s", name, did.text)
		}
		return n
	}
	did.returned, did.records, did.keys = number("nReturned"), number("totalDocsExamined"), number("totalKeysExamined")
	stages(raw.Lookup("queryPlanner", "winningPlan"), func(name string, stage bson.Raw) {
		_, unfiltered := stage.LookupErr("filter")
		did.walksAll = did.walksAll || name == "COLLSCAN"
		did.sorts = did.sorts || name == "SORT"
		did.filters = did.filters || name == "FETCH" && unfiltered == nil
	})
	return did
}

// stages calls a function for each stage of a plan.
func stages(value bson.RawValue, each func(name string, stage bson.Raw)) {
	elements, err := value.Document().Elements()
	if err != nil {
		return
	}
	for _, e := range elements {
		switch inner := e.Value(); {
		case e.Key() == "stage":
			each(inner.StringValue(), value.Document())
		case inner.Type == bson.TypeEmbeddedDocument:
			stages(inner, each)
		case inner.Type == bson.TypeArray:
			values, _ := inner.Array().Values()
			for _, v := range values {
				if v.Type == bson.TypeEmbeddedDocument {
					stages(v, each)
				}
			}
		}
	}
}
