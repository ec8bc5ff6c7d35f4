package concurrency

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"marquee/integration/histories"
	"marquee/integration/service"
)

// historyLists are the types of the lists, half of them each. The service has no operation
// that appends to an array, so a list is an object that gets one property after another:
// a write of some properties leaves those as they are that others have written. The order
// is that of the versions that have set the properties, which the history has.
var historyLists = [2]string{"ledgers", "journals"}

// historySlots is the number of elements that fit into a list.
const historySlots = 200

func historyList(i int) string { return historyLists[i%len(historyLists)] }

func historySlot(n int64) string { return fmt.Sprintf("e%03d", n) }

func historySlotProperties() string {
	var properties []string
	for n := range int64(historySlots) {
		properties = append(properties, fmt.Sprintf(`%q: {"type": "integer"}`, historySlot(n)))
	}
	return strings.Join(properties, ", ")
}

// listTransaction is a transaction whose lists have the order that was read: none.
type listTransaction struct {
	sent
	operations []histories.Operation
}

func (c *historyClient) listPath(i int) string {
	return "/api/v1/" + historyList(i) + "/" + c.y.id(i) + "?context=main"
}

func (y *history) listKey(i int) string { return historyList(i) + "/" + y.id(i) }

func (c *historyClient) useLists() {
	switch n := c.random.IntN(20); {
	case n < 6:
		c.readLists()
	case n < 7:
		c.readList(c.random.IntN(historyObjects))
	case n < 12:
		c.appendBatch()
	case n < 14:
		c.appendCollection()
	case n < 18:
		c.appendGuarded(c.random.IntN(historyObjects))
	default:
		c.appendRefused()
	}
}

// note keeps a transaction with the lists that its answer shows.
func (c *historyClient) note(s sent, appended []histories.Operation, shown map[string]map[string]any) {
	operations := appended
	for _, key := range slices.Sorted(maps.Keys(shown)) {
		operations = append(operations, histories.Read(key, historyElements(shown[key])...))
	}
	c.lists = append(c.lists, listTransaction{s, operations})
}

// historyElements are the values of the properties that are set, in no order.
func historyElements(object map[string]any) (elements []int64) {
	for name, value := range object {
		if n, ok := value.(float64); ok && strings.HasPrefix(name, "e") {
			elements = append(elements, int64(n))
		}
	}
	return elements
}

// results are the objects of a list, by their keys.
func (c *historyClient) results(a *service.Answer) map[string]map[string]any {
	if a.Header.Get("Preference-Applied") == "return=minimal" {
		return nil
	}
	var list struct{ Results []map[string]any }
	if err := json.Unmarshal(a.Body, &list); err != nil {
		c.fail("%v: %s", err, a.Body)
	}
	objects := map[string]map[string]any{}
	for _, object := range list.Results {
		kind, _, _ := strings.Cut(strings.TrimPrefix(fmt.Sprint(object["url"]), "/api/v1/"), "/")
		objects[fmt.Sprint(kind, "/", object["id"])] = object
	}
	return objects
}

func (c *historyClient) readList(i int) {
	if s := c.send(http.MethodGet, c.listPath(i), nil, "", http.StatusOK); s.outcome == histories.Committed {
		c.note(s, nil, map[string]map[string]any{c.y.listKey(i): c.object(s.Body)})
	}
}

// some are different lists, of one type or of both.
func (c *historyClient) some(n int, oneType bool) (lists []int) {
	first := c.random.IntN(historyObjects)
	for _, i := range append([]int{first}, c.random.Perm(historyObjects)...) {
		if len(lists) < n && !slices.Contains(lists, i) && (!oneType || historyList(i) == historyList(first)) {
			lists = append(lists, i)
		}
	}
	return lists
}

// readLists reads several lists of a type from one snapshot.
func (c *historyClient) readLists() {
	lists := c.some(2+c.random.IntN(4), true)
	var ids []string
	for _, i := range lists {
		ids = append(ids, c.y.id(i))
	}
	s := c.send(http.MethodGet, "/api/v1/"+historyList(lists[0])+"?context=main&id="+strings.Join(ids, "%3B"), nil, "", http.StatusOK)
	if s.outcome != histories.Committed {
		return
	}
	shown := c.results(s.Answer)
	if len(shown) != len(lists) {
		c.fail("%d of %d lists are read: %s", len(shown), len(lists), s.Body)
	}
	c.note(s, nil, shown)
}

// listWrite is one object of a request that appends, with one or two new elements.
type listWrite struct {
	kind   string
	object map[string]any
}

// appends makes the objects of a request, and what they append; none if a list is full.
func (c *historyClient) appends(lists []int) (writes []listWrite, appended []histories.Operation) {
	for _, i := range lists {
		count := int64(1 + c.random.IntN(2))
		last := c.y.slots[i].Add(count)
		if last > historySlots {
			return nil, nil
		}
		object := map[string]any{"id": c.y.id(i)}
		for slot := last - count; slot < last; slot++ {
			value := c.y.values.Add(1)
			object[historySlot(slot)] = value
			appended = append(appended, histories.Append(c.y.listKey(i), value))
		}
		writes = append(writes, listWrite{historyList(i), object})
	}
	return writes, appended
}

func historyJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func historyBatch(writes []listWrite) string {
	var operations []any
	for _, w := range writes {
		operations = append(operations, map[string]any{"type": w.kind, "object": w.object})
	}
	return historyJSON(map[string]any{"operations": operations})
}

// preference asks for a short answer now and then.
func (c *historyClient) preference() http.Header {
	if c.random.IntN(8) == 0 {
		return http.Header{"Prefer": {"return=minimal"}}
	}
	return http.Header{}
}

// appendBatch appends to lists of both types in one transaction.
func (c *historyClient) appendBatch() {
	writes, appended := c.appends(c.some(2+c.random.IntN(2), false))
	if writes == nil {
		c.readLists()
		return
	}
	s := c.send(http.MethodPost, "/api/v1/batch?context=main", c.preference(), historyBatch(writes), http.StatusOK)
	c.noteAppended(s, appended, len(writes))
}

// appendCollection appends to lists of one type in one transaction.
func (c *historyClient) appendCollection() {
	writes, appended := c.appends(c.some(2+c.random.IntN(2), true))
	if writes == nil {
		c.readLists()
		return
	}
	var objects []any
	for _, w := range writes {
		objects = append(objects, w.object)
	}
	s := c.send(http.MethodPost, "/api/v1/"+writes[0].kind+"?context=main", c.preference(), historyJSON(objects), http.StatusOK)
	c.noteAppended(s, appended, len(writes))
}

func (c *historyClient) noteAppended(s sent, appended []histories.Operation, lists int) {
	var shown map[string]map[string]any
	if s.outcome == histories.Committed {
		shown = c.results(s.Answer)
		if shown != nil && len(shown) != lists {
			c.fail("the answer has %d of %d lists: %s", len(shown), lists, s.Body)
		}
	}
	c.note(s, appended, shown)
}

// appendGuarded appends to a list if it is still as this client has read it. A write
// that succeeds is a transaction with that read.
func (c *historyClient) appendGuarded(i int) {
	read := c.send(http.MethodGet, c.listPath(i), nil, "", http.StatusOK)
	if read.outcome != histories.Committed {
		return
	}
	before := histories.Read(c.y.listKey(i), historyElements(c.object(read.Body))...)
	c.lists = append(c.lists, listTransaction{read, []histories.Operation{before}})
	writes, appended := c.appends([]int{i})
	if writes == nil {
		return
	}
	s := c.send(http.MethodPut, c.listPath(i), crashIfMatch(int(read.version())), historyJSON(writes[0].object), http.StatusOK, http.StatusPreconditionFailed)
	if s.outcome != histories.Committed {
		if s.Answer != nil && s.Status == http.StatusPreconditionFailed {
			appended = append(appended, histories.Changed(before.Key, slices.Clone(before.List)...))
		}
		c.note(s, appended, nil)
		return
	}
	c.note(s, append([]histories.Operation{before}, appended...), map[string]map[string]any{c.y.listKey(i): c.object(s.Body)})
}

// appendRefused sends what must have no effect: one object of it is invalid, the request
// may only create, or it stores nothing.
func (c *historyClient) appendRefused() {
	writes, appended := c.appends(c.some(3, false))
	if writes == nil {
		c.readLists()
		return
	}
	path, header, status := "/api/v1/batch?context=main", http.Header{}, 0
	switch c.random.IntN(4) {
	case 0:
		writes[c.random.IntN(len(writes))].object["e000"], status = "no number", http.StatusUnprocessableEntity
	case 1:
		header, status = http.Header{"If-None-Match": {"*"}}, http.StatusPreconditionFailed
	case 2:
		writes = append(writes, listWrite{historyLists[0], map[string]any{"id": "absent"}})
		header, status = http.Header{"If-Match": {"*"}}, http.StatusPreconditionFailed
	default:
		path, status = path+"&validateOnly=true", http.StatusOK
	}
	s := c.send(http.MethodPost, path, header, historyBatch(writes), status)
	s.outcome = histories.Aborted
	c.note(s, appended, nil)
}

// judgeLists looks for transactions that no serial order explains.
func (y *history) judgeLists() (wrong []string) {
	order := map[string]map[int64]int64{} // the version that has set an element
	for i := range historyObjects {
		entries, err := y.audit(historyList(i), i)
		if err != nil {
			wrong = append(wrong, err.Error())
			continue
		}
		versions := map[int64]int64{}
		for _, entry := range entries[1:] { // it was empty at first
			for _, change := range entry.Changes {
				if to, ok := change.To.(float64); ok && change.From == nil && versions[int64(to)] == 0 {
					versions[int64(to)] = entry.Version
					continue
				}
				wrong = append(wrong, fmt.Sprintf("the history of %s has a change at version %d of what nobody changes: %+v", y.listKey(i), entry.Version, change))
			}
		}
		order[y.listKey(i)] = versions
	}
	for _, a := range histories.CheckLists(y.transactions(order)) {
		wrong = append(wrong, a.String())
	}
	return wrong
}

// transactions are those of all clients, with the elements that they have read in their
// order. Those of one version have the order in which they were made; those that the
// history does not have come last.
func (y *history) transactions(order map[string]map[int64]int64) (all []histories.Transaction) {
	for _, c := range y.clients {
		for _, l := range c.lists {
			for _, o := range l.operations {
				versions := order[o.Key]
				slices.SortFunc(o.List, func(a, b int64) int {
					if x, y := versions[a], versions[b]; x != y && x*y != 0 {
						return cmp.Compare(x, y)
					} else if x != y {
						return cmp.Compare(y, x)
					}
					return cmp.Compare(a, b)
				})
			}
			all = append(all, histories.Transaction{Begin: l.begin, End: l.end, Outcome: l.outcome, Operations: l.operations})
		}
	}
	return all
}
