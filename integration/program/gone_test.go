package program

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/integration/mongodb"
	"marquee/integration/process"
	"marquee/integration/service"
)

// TestGoneServer kills a server while it stores a batch of 40 objects: another one, whose
// database user has only the role readWrite, can soon write each of them. MongoDB alone
// would keep it from that for longer than the test lasts. In 'make siege', it is soon enough.
func TestGoneServer(t *testing.T) {
	t.Parallel()
	process.Binary(t)
	set := mongodb.NewReplicaSet(t, 1, mongodb.WithAuth())
	admin := set.Client().Database("admin")
	user := bson.D{{Key: "createUser", Value: "writer"}, {Key: "pwd", Value: "writer"},
		{Key: "roles", Value: bson.A{bson.D{{Key: "role", Value: "readWrite"}, {Key: "db", Value: "gone"}}}}}
	if err := admin.RunCommand(t.Context(), user).Err(); err != nil {
		t.Fatal(err)
	}
	lasting := bson.D{{Key: "setParameter", Value: 1}, {Key: "transactionLifetimeLimitSeconds", Value: int(service.Patience.Seconds()) * 10}}
	if err := admin.RunCommand(t.Context(), lasting).Err(); err != nil {
		t.Fatal(err)
	}
	uri := set.URIAs(url.UserPassword("writer", "writer"), "gone")
	other := process.Serve(t, uri)
	other.SignIn("admin", process.Password)
	killed := process.Serve(t, uri+"&appName=killed")
	killed.Token = other.Token
	var batch []string
	for i := range 40 {
		batch = append(batch, fmt.Sprintf(`{"id": "adv%d", "name": "Before"}`, i))
	}
	path, body := "/api/v1/advertisers?context=main", "["+strings.Join(batch, ",")+"]"
	other.Ask(http.StatusOK, http.MethodPost, path, body)

	committing := bson.D{{Key: "configureFailPoint", Value: "failCommand"}, {Key: "mode", Value: "alwaysOn"}, {Key: "data", Value: bson.D{
		{Key: "failCommands", Value: bson.A{"commitTransaction"}}, {Key: "appName", Value: "killed"},
		{Key: "blockConnection", Value: true}, {Key: "blockTimeMS", Value: (2 * service.Patience).Milliseconds()}}}}
	if err := admin.RunCommand(t.Context(), committing).Err(); err != nil {
		t.Fatal(err)
	}
	body = strings.ReplaceAll(body, "Before", "Lost")
	go killed.Send(http.MethodPost, path, nil, []byte(body)) // which is not answered
	awaitOperation(t, set, bson.D{{Key: "appName", Value: "killed"}, {Key: "command.commitTransaction", Value: 1}})
	killed.Kill()

	at := time.Now()
	body = strings.ReplaceAll(body, "Lost", "After")
	for {
		a, err := other.Send(http.MethodPost, path, nil, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if a.Status == http.StatusOK {
			break
		}
		if a.Status != http.StatusConflict || time.Since(at) > service.Patience {
			t.Fatalf("%v after the other server was killed: %d %s", time.Since(at), a.Status, a.Body)
		}
	}
	took := time.Since(at)
	if t.Logf("after %v", took); os.Getenv("MARQUEE_SIEGE") != "" && took > 15*time.Second {
		t.Error("that is longer than the documents promise")
	}
	process.Wants(t, other.Stderr.String(), "transactions of servers that have gone were ended")
	other.Stop()
}

// awaitOperation waits until the server runs an operation.
func awaitOperation(t *testing.T, set *mongodb.ReplicaSet, operation bson.D) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), service.Patience)
	defer cancel()
	for {
		cursor, err := set.Client().Database("admin").Aggregate(ctx, bson.A{bson.D{{Key: "$currentOp", Value: bson.D{{Key: "allUsers", Value: true}}}}, bson.D{{Key: "$match", Value: operation}}})
		if err != nil {
			t.Fatal(err)
		}
		var found []bson.Raw
		if err := cursor.All(ctx, &found); err != nil {
			t.Fatal(err)
		}
		if len(found) > 0 {
			return
		}
	}
}
