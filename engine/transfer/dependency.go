package transfer

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"hash/maphash"
	"io"
	"maps"
	"slices"

	"marquee/engine/document"
	"marquee/engine/message"
)

// maxOrdered is the maximum number of waiting lines that are sorted, which takes
// about 100 bytes of memory for each. More lines are tried in their order until
// fewer are waiting.
const maxOrdered = 1 << 20

// order sorts the waiting lines so that each follows those that it depends on, and
// one pass can write all of them. Lines that depend on each other become a group.
func (r *Importer) order() error {
	places, needs, err := r.dependencies()
	if err != nil {
		return err
	}
	// The list that this pass has read is overwritten: an import that is continued
	// from here must not read it again.
	r.state.Reading, r.state.Position = 0, 0
	if err := r.saveState(); err != nil {
		return err
	}
	list, err := r.scratch.open(r.state.Pass+1, 0)
	if err != nil {
		return err
	}
	defer r.list.Close()
	r.list = list
	out, groups := bufio.NewWriter(r.list), int64(0)
	components(needs, func(lines []int32) {
		group := int64(0)
		if len(lines) > 1 {
			groups++
			group = groups
		}
		slices.Sort(lines)
		for _, i := range lines {
			p := places[i]
			p.group = group
			_, _ = out.Write(appendWaiting(nil, p)) // Flush has the error
		}
	})
	if err := out.Flush(); err != nil {
		return cannotSave("the waiting lines", err)
	}
	r.state.Pass++
	return nil
}

// dependencies returns the waiting lines and, for each, the indexes of the lines
// on which it depends: those of the objects that it refers to, and the previous
// line of the same object.
func (r *Importer) dependencies() (places []place, needs [][]int32, err error) {
	seed, latest := maphash.MakeSeed(), make(map[uint64]int32, r.state.Waiting)
	hash := func(it item) uint64 { return maphash.String(seed, it.key()) }
	var keys []uint64
	err = r.eachWaiting(func(it item) {
		latest[hash(it)] = int32(len(places)) // #nosec G115 -- 2^31 waiting lines would need 64 GiB of memory
		places, keys = append(places, it.place), append(keys, hash(it))
	})
	if err != nil {
		return nil, nil, err
	}
	i, before := 0, make(map[uint64]int32)
	needs = make([][]int32, len(places))
	err = r.eachWaiting(func(it item) {
		need := func(line int32, there bool) {
			if there && line != int32(i) { // #nosec G115 -- 2^31 waiting lines would need 64 GiB of memory
				needs[i] = append(needs[i], line)
			}
		}
		line, there := before[keys[i]]
		need(line, there)
		before[keys[i]] = int32(i) // #nosec G115 -- 2^31 waiting lines would need 64 GiB of memory
		r.references(it, func(_ document.Pointer, _ *document.Reference, of item) {
			line, there := latest[hash(of)]
			need(line, there)
		})
		i++
	})
	return places, needs, err
}

// references calls found for each reference of a line that was just parsed, with
// its position and an item that has the key of its target.
func (r *Importer) references(it item, found func(at document.Pointer, ref *document.Reference, of item)) {
	normal := document.Normaliser{Unknown: func(document.Pointer, bool) {}, Fault: func(*message.Definition, document.Pointer, message.Params) {}}
	it.t.ToStored(it.object, func(string, string) {}) // which the engine refuses
	normal.Object(it.t.Shape, it.object)
	it.t.Shape.References(it.object, func(at document.Pointer, ref *document.Reference, id, network string) {
		target, served := r.parser.registry.Type(ref.Type)
		if !served {
			return
		}
		of := item{t: target, id: id}
		if !target.Global {
			of.network = cmp.Or(network, it.network)
		}
		found(at, ref, of)
	})
}

// addMissing adds faults for items of a chunk that refer to invalid items which
// are not stored. Otherwise each attempt to write would find only one more item in
// a chain of references.
func (r *Importer) addMissing(ctx context.Context, items []item, faults map[int][]message.Message) error {
	there, err := r.stored(ctx, items)
	if err != nil {
		return err
	}
	type dependent struct {
		index int
		fault message.Message
	}
	dependents := map[string][]dependent{}
	for i, it := range items {
		read, _ := r.parser.parse(it.line)
		r.references(read, func(at document.Pointer, ref *document.Reference, of item) {
			fault := message.ReferencedObjectNotFound.With(message.Params{"field": read.t.ServedPointer(at.String()), "type": r.parser.registry.Path(ref.Type), "id": of.id, "objectId": it.id})
			dependents[of.key()] = append(dependents[of.key()], dependent{i, fault})
		})
	}
	queue := slices.Collect(maps.Keys(faults))
	for at := 0; at < len(queue); at++ {
		key := items[queue[at]].key()
		if there[key] {
			continue
		}
		for _, d := range dependents[key] {
			if faults[d.index] == nil {
				queue = append(queue, d.index)
			}
			faults[d.index] = append(faults[d.index], d.fault)
		}
	}
	return nil
}

// stored returns the keys of the items whose objects are stored.
func (r *Importer) stored(ctx context.Context, items []item) (map[string]bool, error) {
	objects := make([]ObjectID, len(items))
	for i, it := range items {
		objects[i] = ObjectID{it.t.Name, it.network, it.id}
	}
	found, err := r.Target.Stored(ctx, objects)
	there := make(map[string]bool, len(found))
	for _, o := range found {
		there[o.key()] = true
	}
	return there, err
}

// eachWaiting reads the lines that are waiting in this pass.
func (r *Importer) eachWaiting(visit func(item)) error {
	waiting := newWaitingInput(r.list, r.state.Waiting, 0, r.text)
	for {
		l, err := waiting.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if it, faults := r.parser.parse(l); len(faults) == 0 {
			visit(it)
		}
	}
}

// components yields the strongly connected components of a graph, each after those
// on which its nodes depend (R. Tarjan, 1972).
func components(needs [][]int32, yield func(nodes []int32)) {
	// number is the order in which nodes are visited, from 1; low is the earliest
	// node that can be reached.
	number, low := make([]int32, len(needs)), make([]int32, len(needs))
	type step struct {
		node int32
		next int // of its needs
	}
	var path []step
	var open []int32
	met := int32(0)
	const done = 1<<31 - 1
	for root := range needs {
		if number[root] != 0 {
			continue
		}
		path = append(path, step{node: int32(root)})
		for len(path) > 0 {
			at := &path[len(path)-1]
			node := at.node
			if number[node] == 0 {
				met++
				number[node], low[node] = met, met
				open = append(open, node)
			}
			deeper := false
			for ; at.next < len(needs[node]); at.next++ {
				other := needs[node][at.next]
				if number[other] == 0 {
					path = append(path, step{node: other})
					deeper = true
					break
				}
				low[node] = min(low[node], low[other])
			}
			if deeper {
				continue
			}
			path = path[:len(path)-1]
			if low[node] != number[node] {
				continue
			}
			first := len(open) - 1
			for open[first] != node {
				first--
			}
			for _, member := range open[first:] {
				low[member] = done
			}
			yield(open[first:])
			open = open[:first]
		}
	}
}
