package marquee_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing/fstest"

	"marquee"
	"marquee/client"
	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/rest"
	"marquee/engine/store"
)

// rooms are booked for days, and count their bookings.
var rooms = fstest.MapFS{
	"rooms.json": {Data: []byte(`{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"x-resource": {"path": "rooms"},
		"type": "object",
		"properties": {"bookings": {"type": "integer", "readOnly": true}}
	}`)},
	"bookings.json": {Data: []byte(`{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"x-resource": {"path": "bookings"},
		"type": "object",
		"required": ["room", "day"],
		"properties": {
			"room": {"$ref": "common/reference.json", "x-ref": "rooms", "x-immutable": true},
			"day": {"type": "string"}
		}
	}`)},
}

var roomMessages message.Set

var roomIsTaken = roomMessages.Invalid("error.room.taken", "The room is taken on the day in {{field}}.")

// isFree refuses a booking of a room for a day that has another one, with a code of the
// program's own. It finds stored bookings, and others of the same request in the round.
// On MongoDB, writes run side by side: of two bookings of a room, the lock makes one run
// again, which then finds the other.
func isFree(ctx context.Context, w *engine.Writing, c *engine.Change) error {
	room, _ := c.After["room"].(string)
	if err := w.Lock("rooms", c.Network, room); err != nil {
		return err
	}
	inRoom, err := c.Type.Field("", "room")
	if err != nil {
		return err
	}
	onDay, err := c.Type.Field("", "day")
	if err != nil {
		return err
	}
	taken := false
	same := query.And{query.Comparison(inRoom, query.Equal, room), query.Comparison(onDay, query.Equal, c.After["day"])}
	err = w.Find(c.Type, c.Network, same, 2, func(other *store.Record) error {
		taken = taken || other.ID != c.ID
		return nil
	})
	for _, other := range w.Round("bookings") {
		taken = taken || other != c && other.After["room"] == room && other.After["day"] == c.After["day"]
	}
	if taken {
		c.Refuse(roomIsTaken, "/day", nil)
	}
	return err
}

// countBookings writes a second object: the room of each new booking.
func countBookings(ctx context.Context, w *engine.Writing, changes []*engine.Change) error {
	rooms, _ := w.Type("rooms")
	for _, c := range changes {
		if c.Before != nil {
			continue // it was counted when it was made
		}
		room, _ := c.After["room"].(string)
		w.Upsert(rooms, c.Network, room, func(object map[string]any) {
			n, _ := object["bookings"].(int64)
			object["bookings"] = n + 1
		})
	}
	return nil
}

// Hooks query, lock and write other objects in the transaction of the request, and refuse
// it with codes of their own.
func ExampleApplication_hooks() {
	example(marquee.Application{
		Schemas:  rooms,
		Messages: &roomMessages,
		Hooks:    map[string]engine.Hooks{"bookings": {Validate: engine.Each(isFree), BeforeStore: countBookings}},
	}, func(server *marquee.Server) {
		ctx := context.Background()
		if _, err := server.Write(ctx, "main", "rooms", map[string]any{"id": "blue"}); err != nil {
			fmt.Println(err)
		}
		book := func(days ...string) {
			var bookings []map[string]any
			for _, day := range days {
				bookings = append(bookings, map[string]any{"room": "blue", "day": day})
			}
			_, err := server.Write(ctx, "main", "bookings", bookings...)
			room, _ := server.Read(ctx, "main", "rooms", "blue")
			fmt.Println(room["bookings"], roomIsTaken.Is(err), err)
		}
		book("monday", "tuesday")
		book("monday")
		book("friday", "friday")
	})
	// Output:
	// 2 false <nil>
	// 2 true The room is taken on the day in /day.
	// 2 true The room is taken on the day in /day. The room is taken on the day in /day.
}

// A route for callers who hold a permission in the network that the request names.
func ExampleApplication_authorise() {
	const planRooms = "PLAN_ROOMS"
	plan := rest.Route{
		Path:    "/api/v1/plan",
		Methods: []string{http.MethodGet},
		Serve: func(r *rest.Call) error {
			network, err := r.Network(nil) // in which the caller has a role
			if err != nil {
				return err
			}
			if caller := r.Caller(); !caller.System && !caller.Grants[network].Holds(planRooms) {
				return message.ReadForbidden.Error(message.Params{"type": "plan", "permission": planRooms})
			}
			r.Answer(http.StatusOK, []byte(`{"rooms": 1}`))
			return nil
		},
	}
	example(marquee.Application{
		Schemas:     rooms,
		Permissions: []string{planRooms},
		Routes:      []rest.Route{plan},
	}, func(server *marquee.Server) {
		ctx := context.Background()
		if _, err := server.Write(ctx, "main", "roles", map[string]any{"id": "guest", "name": "Guest", "scope": "NETWORK"}); err != nil {
			fmt.Println(err)
		}
		if _, err := server.Write(ctx, "", "users", map[string]any{"username": "kari", "password": "correct horse battery",
			"userRoles": map[string]any{"rolesByNetwork": []any{map[string]any{"network": "main", "roles": []any{map[string]any{"role": "guest"}}}}}}); err != nil {
			fmt.Println(err)
		}
		web := httptest.NewServer(server)
		defer web.Close()
		for _, user := range []string{"admin", "kari"} {
			c, err := client.New(web.URL, client.Options{})
			if err == nil {
				err = c.SignIn(ctx, user, "correct horse battery")
			}
			var answer struct{ Rooms int }
			if err == nil {
				err = c.Do(ctx, http.MethodGet, "/api/v1/plan?context=main", nil, &answer)
			}
			fmt.Println(answer.Rooms, client.HasStatus(err, http.StatusForbidden), client.HasCode(err, "error.read.forbidden"))
		}
	})
	// Output:
	// 1 false false
	// 0 true true
}
