package mongodb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// Elections in seconds, and not in the ten that production waits.
const (
	electionTimeout   = 2 * time.Second
	heartbeatInterval = 200 * time.Millisecond
	catchUpTimeout    = 500 * time.Millisecond // which a new primary spends on asking a paused one
)

// initiate makes the members a replica set and waits until it is whole.
func (s *set) initiate(ctx context.Context) error {
	addresses := make([]string, len(s.members))
	for i, m := range s.members {
		addresses[i] = m.address()
	}
	if err := initiate(ctx, s.members[0].client, addresses); err != nil {
		return err
	}
	first, err := s.primary(ctx)
	if err != nil {
		return err
	}
	if s.auth {
		if err := s.admit(ctx, s.members[first].client); err != nil {
			return err
		}
	}
	for _, m := range s.members {
		if err := s.awaitFollowing(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

func initiate(ctx context.Context, client *mongo.Client, addresses []string) error {
	var members bson.A
	for i, address := range addresses {
		members = append(members, bson.D{{Key: "_id", Value: i}, {Key: "host", Value: address}})
	}
	return client.Database("admin").RunCommand(ctx, bson.D{{Key: "replSetInitiate", Value: bson.D{
		{Key: "_id", Value: setName},
		{Key: "members", Value: members},
		{Key: "settings", Value: bson.D{
			{Key: "electionTimeoutMillis", Value: electionTimeout.Milliseconds()},
			{Key: "heartbeatIntervalMillis", Value: heartbeatInterval.Milliseconds()},
			{Key: "catchUpTimeoutMillis", Value: catchUpTimeout.Milliseconds()},
		}},
	}}}).Err()
}

// primary waits for a primary. A member that was away may still take itself for
// one: the later election counts.
func (s *set) primary(ctx context.Context) (int, error) {
	found := -1
	err := poll(ctx, func() error {
		var latest bson.ObjectID
		for i, m := range s.members {
			said, err := m.hello(ctx)
			if err == nil && said.Primary && bytes.Compare(said.Election[:], latest[:]) > 0 {
				found, latest = i, said.Election
			}
		}
		if found < 0 {
			return errors.New("no primary was elected")
		}
		return nil
	})
	return found, err
}

// awaitFollowing waits until a member has what the primary, if there is one, had
// when this was called. Before, it counts for no majority.
func (s *set) awaitFollowing(ctx context.Context, m *member) error {
	var goal greeting
	for _, other := range s.members {
		if said, err := other.hello(ctx); err == nil && said.Primary {
			goal = said
		}
	}
	return poll(ctx, func() error {
		said, err := m.hello(ctx)
		if err != nil {
			return err
		}
		if !said.Primary && !said.Secondary || said.written().Before(goal.written()) {
			return fmt.Errorf("the member on port %d does not follow a primary", m.port)
		}
		return nil
	})
}

// poll asks until the answer is no error.
func poll(ctx context.Context, ask func() error) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ask()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-tick.C:
		}
	}
}
