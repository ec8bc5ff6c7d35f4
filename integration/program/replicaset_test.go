package program

import (
	"testing"

	"marquee/integration/process"
)

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
