package mongodb

import (
	"context"
	"net/url"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// ReplicaSet is a test's own, to be disturbed at will. Its methods end the test
// when they fail, so they are for the test's goroutine; URI and Client are for any.
type ReplicaSet struct {
	tb testing.TB
	*set
}

// NewReplicaSet starts a replica set of n members, which ends with the test. It
// returns when there is a primary and all others follow it. It needs a mongod:
// a URI or a container is not enough.
func NewReplicaSet(tb testing.TB, n int, opts ...Option) *ReplicaSet {
	tb.Helper()
	return newReplicaSet(tb, settings{members: n}, opts)
}

// StandaloneURI is the connection string of a server that is no replica set.
func StandaloneURI(tb testing.TB) string {
	tb.Helper()
	return newReplicaSet(tb, settings{members: 1, standalone: true}, nil).URI("marquee")
}

func newReplicaSet(tb testing.TB, s settings, opts []Option) *ReplicaSet {
	tb.Helper()
	for _, option := range opts {
		option(&s)
	}
	binary, err := Binary()
	check(tb, err)
	own, err := startSet(binary, s)
	check(tb, err)
	tb.Cleanup(func() {
		if err := own.stop(); err != nil {
			tb.Errorf("stop the replica set: %v", err)
		}
	})
	return &ReplicaSet{tb, own}
}

// URI is the connection string of the set, with a database.
func (r *ReplicaSet) URI(database string) string { return r.uri(r.owner(), database) }

// URIAs is URI for another user of the admin database, or, with nil, for nobody.
func (r *ReplicaSet) URIAs(user *url.Userinfo, database string) string { return r.uri(user, database) }

// X509URI is URI for one who shows a certificate instead of a password, and may
// do everything, too. The set must be one WithTLS and WithAuth.
func (r *ReplicaSet) X509URI(database string) string { return r.x509URI(database) }

// Client is for the test's own checks: fault points, what is stored.
func (r *ReplicaSet) Client() *mongo.Client { return r.client }

// Member is a client of one member, for fault points of its own.
func (r *ReplicaSet) Member(i int) *mongo.Client { return r.members[i].client }

// Primary waits for the set to have a primary, and is its number.
func (r *ReplicaSet) Primary() int {
	r.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	i, err := r.primary(ctx)
	check(r.tb, err)
	return i
}

// Kill ends a member at once (SIGKILL), paused or not. Its data stay.
func (r *ReplicaSet) Kill(i int) { r.members[i].kill() }

// Start runs a killed member again, on the same port and data, and returns when
// it follows the primary, or, without one, when it can become it.
func (r *ReplicaSet) Start(i int) {
	r.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	check(r.tb, r.members[i].start())
	check(r.tb, r.members[i].await(ctx))
	if !r.standalone {
		check(r.tb, r.awaitFollowing(ctx, r.members[i]))
	}
}

// Pause stops a member (SIGSTOP): its connections stay open, and nothing is answered.
func (r *ReplicaSet) Pause(i int) {
	r.tb.Helper()
	check(r.tb, r.members[i].pause())
}

// Resume lets a paused member go on as if nothing had been.
func (r *ReplicaSet) Resume(i int) {
	r.tb.Helper()
	check(r.tb, r.members[i].resume())
}

// StepDown makes the primary give up its role to another member.
func (r *ReplicaSet) StepDown() {
	r.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	check(r.tb, r.client.Database("admin").RunCommand(ctx, bson.D{{Key: "replSetStepDown", Value: 10}}).Err())
}
