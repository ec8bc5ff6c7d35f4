package program

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"marquee/auth/seal"
	"marquee/integration/process"
	"marquee/integration/service"
)

// writeConnections writes objects with secrets from a number on.
func writeConnections(p *process.Process, from, n int) {
	p.TB.Helper()
	var objects []string
	for i := from; i < from+n; i++ {
		objects = append(objects, fmt.Sprintf(`{"id": "c%d", "name": "c%d", "contextService": "X", "username": "u", "apiKey": "key %d"}`, i, i, i))
	}
	p.Ask(http.StatusOK, http.MethodPost, "/api/v1/contextserviceconnections?context=main", "["+strings.Join(objects, ",")+"]")
}

// wantConnections fails unless all secrets are shown.
func wantConnections(p *process.Process, n int) {
	p.TB.Helper()
	for i := range n {
		a := p.Ask(http.StatusOK, http.MethodGet, fmt.Sprintf("/api/v1/contextserviceconnections/c%d?context=main", i), "")
		if want := fmt.Sprintf(`"apiKey":"key %d"`, i); !strings.Contains(string(a.Body), want) {
			p.TB.Errorf("%s is not in %s", want, a.Body)
		}
	}
}

// TestSecretsRotateWhileServing: the key is rotated beside a server that writes; no
// request fails, and afterwards nothing needs the old key: neither secrets nor the
// keys that sign access tokens.
func TestSecretsRotateWhileServing(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	uri := service.NewSQLite(t)
	p := process.Serve(t, uri)
	p.SignIn(service.Admin, process.Password)
	writeConnections(p, 0, 250)
	etag := p.Ask(http.StatusOK, http.MethodGet, "/api/v1/contextserviceconnections/c0?context=main", "").Header.Get("ETag")
	var writing sync.WaitGroup
	writing.Go(func() {
		for i := range 20 {
			writeConnections(p, 250+10*i, 10)
		}
	})
	out := process.Run(t, nil, "secrets", "rotate", "--store", uri)
	process.Wants(t, out, "has a new key", "all secrets are encrypted with the new key", "delete it together with them")
	writing.Wait()
	wantConnections(p, 450)
	if now := p.Ask(http.StatusOK, http.MethodGet, "/api/v1/contextserviceconnections/c0?context=main", "").Header.Get("ETag"); now != etag {
		t.Errorf("the ETag was %s and is %s", etag, now)
	}
	p.Stop()

	keyFile := strings.TrimSuffix(service.SQLiteFile(uri), "marquee.db") + "marquee.key"
	if err := os.Remove(seal.RetiredKeys(keyFile)); err != nil {
		t.Fatal(err)
	}
	token := p.Token
	p = process.Serve(t, uri)
	p.Token = token
	wantConnections(p, 450)
	p.SignIn(service.Admin, process.Password)
	p.Stop()
	process.Wants(t, process.Run(t, nil, "check", "--store", uri), "nothing is wrong")
}

// TestSecretsRotationIsResumed: whatever step a rotation is interrupted at, the next
// start goes on, and so does the command.
func TestSecretsRotationIsResumed(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	uri := service.NewSQLite(t)
	keyFile := strings.TrimSuffix(service.SQLiteFile(uri), "marquee.db") + "marquee.key"
	p := process.Serve(t, uri)
	p.SignIn(service.Admin, process.Password)
	writeConnections(p, 0, 20)
	p.Kill()
	<-p.Exited
	// The files have been replaced, and nothing has been encrypted anew.
	if err := seal.RotateKeyFile(keyFile); err != nil {
		t.Fatal(err)
	}
	p = process.Serve(t, uri)
	p.SignIn(service.Admin, process.Password)
	wantConnections(p, 20)
	p.Stderr.Await(t, 0, service.Says("all secrets are encrypted with the new key"))
	p.Stop()
	// Without a server, the command does it itself.
	process.Wants(t, process.Run(t, nil, "secrets", "rotate", "--store", uri), "all secrets are encrypted with the new key")
	if err := os.Remove(seal.RetiredKeys(keyFile)); err != nil {
		t.Fatal(err)
	}
	p = process.Serve(t, uri)
	p.SignIn(service.Admin, process.Password)
	wantConnections(p, 20)
	p.Stop()
}

// TestSecretsRotateOnADatabase: the servers of a database get the new key by their
// configuration, one after the other, while others still write with the old one.
func TestSecretsRotateOnADatabase(t *testing.T) {
	t.Parallel()
	uri := service.Reusing(t)(t)
	old, fresh := process.Key, base64.StdEncoding.EncodeToString([]byte(strings.Repeat("n", seal.KeyBytes)))
	serve := func(keys string) *process.Process {
		return process.ServeWith(t, uri, []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + process.Password, "MARQUEE_SECRET_KEY=" + keys})
	}
	first := serve(old + "," + fresh)
	first.SignIn(service.Admin, process.Password)
	writeConnections(first, 0, 20)
	second := serve(fresh + "," + old)
	second.Token = first.Token
	second.Stderr.Await(t, 0, service.Says("all secrets are encrypted with the new key"))
	writeConnections(first, 20, 20) // with the old key
	writeConnections(second, 40, 20)
	wantConnections(first, 60)
	wantConnections(second, 60)
	first.Stop()
	process.Wants(t, process.Fails(t, nil, "secrets", "rotate", "--store", uri), "one key")
	process.Wants(t, process.Run(t, []string{"MARQUEE_SECRET_KEY=" + fresh + "," + old}, "secrets", "rotate", "--store", uri), "all secrets are encrypted with the new key")
	third := serve(fresh)
	third.Token = second.Token
	wantConnections(third, 60)
	third.SignIn(service.Admin, process.Password)
	second.Stop()
	third.Stop()
}
