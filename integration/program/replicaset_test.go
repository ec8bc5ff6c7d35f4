package program

import (
	"net/url"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/integration/mongodb"
	"marquee/integration/process"
	"marquee/integration/service"
)

// TestInitReplicaSetBesideElections: the member that receives the commands becomes the primary,
// which alone can create users, also if the others hold elections sooner. Then all have the same
// priority.
func TestInitReplicaSetBesideElections(t *testing.T) {
	process.SkipLong(t)
	service.NeedStore(t, "mongodb")
	t.Parallel()
	var started int
	set := mongodb.NewReplicaSet(t, 3, mongodb.New(), mongodb.WithAuth(), mongodb.OnDisk(t.TempDir(), func(command ...string) []string {
		offset := "0.02"
		if started++; started%3 == 2 {
			offset = "1.5" // times the ten seconds after which elections are held
		}
		return append(command, "--setParameter", "replElectionTimeoutOffsetLimitFraction="+offset)
	}))
	admin, err := url.Parse(set.URI("marquee"))
	if err != nil {
		t.Fatal(err)
	}
	password, _ := admin.User.Password()
	hosts := strings.Split(admin.Host, ",")
	uri := set.URIAs(url.UserPassword("marquee", "hush"), "marquee")
	said := process.Run(t, nil, "init-replica-set", "--store", uri, "--member", hosts[1], "--admin-password", password)
	process.Wants(t, said, "is ready")

	var reply struct {
		Config struct{ Members []struct{ Priority int } }
	}
	if err := set.Client().Database("admin").RunCommand(t.Context(), bson.D{{Key: "replSetGetConfig", Value: 1}}).Decode(&reply); err != nil {
		t.Fatal(err)
	}
	for i, member := range reply.Config.Members {
		if member.Priority != 1 {
			t.Errorf("the priority of %s is %d", hosts[i], member.Priority)
		}
	}
}

// TestInitReplicaSetRefuses: what cannot become a replica set is refused with
// the cure, and no password is repeated. What can is tried in containers.
func TestInitReplicaSetRefuses(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	said := process.Fails(t, []string{"MARQUEE_STORE=mongodb://marquee:hush@host/marquee?replicaSet=rs0"}, "init-replica-set", "--member", "127.0.0.1:1", "--wait", "2s")
	process.Wants(t, said, "marquee: 127.0.0.1:1 (--member) does not answer; waiting for it (")
	said = process.Fails(t, nil, "init-replica-set", "--store", "mongodb://127.0.0.1:1,elsewhere:2/marquee?replicaSet=rs0", "--wait", "2s")
	process.Wants(t, said, "127.0.0.1:1 (--member) does not answer; waiting for it (", "no MongoDB server answers at 127.0.0.1:1", "--member HOST:PORT")
	process.Shuns(t, said, "server selection", "topology")
	for _, refused := range []struct{ uri, cure string }{
		{"mongodb://marquee:hush@hush@host/marquee?replicaSet=rs0", "percent-encoded"},
		{"sqlite:marquee.db", "not a MongoDB URI"},
		{"mongodb://marquee:hush@host/marquee", "add replicaSet=NAME"},
		{"mongodb://marquee:hush@host/?replicaSet=rs0", "write mongodb://HOST,…/DATABASE"},
		{"mongodb://marquee:hush@host/marquee?replicaSet=rs0", "no MongoDB server answers at 127.0.0.1:1: "},
	} {
		said := process.Fails(t, []string{"MARQUEE_STORE=" + refused.uri}, "init-replica-set", "--member", "127.0.0.1:1", "--wait", "1s")
		process.Wants(t, said, refused.cure)
		process.Shuns(t, said, "hush")
	}
}
