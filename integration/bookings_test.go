package integration

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"marquee"
	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/store"
	"marquee/integration/service"
)

var bookingMessages message.Set

var roomTaken = bookingMessages.Invalid("error.room.taken", "{{field}} is taken by {{id}} at this time.")

// bookings refuse a booking that overlaps another one of the same room.
type bookings struct {
	s *service.Service
	// begun are the first transactions of two requests that are sent together.
	mu    sync.Mutex
	begun map[string]*sync.WaitGroup
}

// meet returns when the first transactions of two requests have begun.
func (b *bookings) meet(id string) {
	b.mu.Lock()
	begun := b.begun[id]
	delete(b.begun, id)
	b.mu.Unlock()
	if begun != nil {
		begun.Done()
		begun.Wait()
	}
}

func (b *bookings) validate(ctx context.Context, w *engine.Writing, c *engine.Change) error {
	b.meet(c.ID)
	room, _ := c.After["room"].(string)
	if err := w.Lock("rooms", c.Network, room); err != nil {
		return err
	}
	var overlap query.And
	for property, of := range map[string]struct {
		op    query.Operator
		value any
	}{"room": {query.Equal, room}, "from": {query.Less, c.After["to"]}, "to": {query.Greater, c.After["from"]}} {
		field, err := c.Type.Field("", property)
		if err != nil {
			return err
		}
		overlap = append(overlap, query.Compare{Field: field, Op: of.op, Value: of.value})
	}
	return w.Find(c.Type, c.Network, overlap, 0, func(r *store.Record) error {
		if r.ID != c.ID {
			c.Refuse(roomTaken, "/room", message.Params{"id": r.ID})
		}
		return nil
	})
}

// TestBookings books a room twice at the same time: one of the two is refused, although
// neither transaction sees what the other writes.
func TestBookings(t *testing.T) { service.EachStore(t, testBookings) }

func testBookings(t *testing.T, fresh service.NewStore) {
	b := &bookings{begun: map[string]*sync.WaitGroup{}}
	b.s = service.StartNew(&service.Service{TB: t, URI: fresh(t), Plain: &marquee.Application{Schemas: os.DirFS("testdata/bookings"), Messages: &bookingMessages,
		Hooks: map[string]engine.Hooks{"bookings": {Validate: engine.Each(b.validate)}}}})
	c := service.ConverseWith(t, b.s)
	const pairs = 10
	for pair := range pairs {
		room := fmt.Sprintf("room%d", pair)
		c.Send("POST", "/api/v1/rooms/"+room+"?context=main", `{}`, 201, "")
		ids := []string{fmt.Sprintf("early%d", pair), fmt.Sprintf("late%d", pair)}
		if !b.s.Store.Serial() {
			var begun sync.WaitGroup
			begun.Add(len(ids))
			for _, id := range ids {
				b.begun[id] = &begun
			}
		}
		answers := make([]*service.Answer, len(ids))
		var sent sync.WaitGroup
		for i, id := range ids {
			sent.Go(func() {
				answers[i] = c.Service.Ask(c.Token, "POST", "/api/v1/bookings/"+id+"?context=main", fmt.Sprintf(`{"room": %q, "from": %d, "to": %d}`, room, 9+i, 11+i), nil)
			})
		}
		sent.Wait()
		if a, b := answers[0].Status, answers[1].Status; a+b != 201+422 {
			t.Errorf("two bookings of a room at the same time get %d and %d", a, b)
		}
		c.Send("GET", "/api/v1/bookings?context=main&where=room%3D"+room, "", 200, `{"totalCount": 1}`)
		c.Send("POST", "/api/v1/bookings?context=main", fmt.Sprintf(`{"room": %q, "from": 12, "to": 13}`, room), 200, "")
	}
}
