package integration

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"marquee/auth/seal"
)

// writeConnections writes objects with secrets from a number on.
func (p *proc) writeConnections(from, n int) {
	p.tb.Helper()
	var objects []string
	for i := from; i < from+n; i++ {
		objects = append(objects, fmt.Sprintf(`{"id": "c%d", "name": "c%d", "contextService": "X", "username": "u", "apiKey": "key %d"}`, i, i, i))
	}
	p.ask(http.StatusOK, http.MethodPost, "/api/v1/contextserviceconnections?context=main", "["+strings.Join(objects, ",")+"]")
}

// wantConnections fails unless all secrets are shown.
func (p *proc) wantConnections(n int) {
	p.tb.Helper()
	for i := range n {
		a := p.ask(http.StatusOK, http.MethodGet, fmt.Sprintf("/api/v1/contextserviceconnections/c%d?context=main", i), "")
		if want := fmt.Sprintf(`"apiKey":"key %d"`, i); !strings.Contains(string(a.body), want) {
			p.tb.Errorf("%s is not in %s", want, a.body)
		}
	}
}

// TestSecretsRotateWhileServing: the key is rotated beside a server that writes; no
// request fails, and afterwards nothing needs the old key: neither secrets nor the
// keys that sign access tokens.
func TestSecretsRotateWhileServing(t *testing.T) {
	t.Parallel()
	uri := newSQLite(t)
	p := procServe(t, uri)
	p.signIn(admin, procPassword)
	p.writeConnections(0, 250)
	etag := p.ask(http.StatusOK, http.MethodGet, "/api/v1/contextserviceconnections/c0?context=main", "").header.Get("ETag")
	var writing sync.WaitGroup
	writing.Go(func() {
		for i := range 20 {
			p.writeConnections(250+10*i, 10)
		}
	})
	out := procRun(t, nil, "secrets", "rotate", "--store", uri)
	procWants(t, out, "has a new key", "all secrets are encrypted with the new key", "delete it together with them")
	writing.Wait()
	p.wantConnections(450)
	if now := p.ask(http.StatusOK, http.MethodGet, "/api/v1/contextserviceconnections/c0?context=main", "").header.Get("ETag"); now != etag {
		t.Errorf("the ETag was %s and is %s", etag, now)
	}
	p.stop()

	keyFile := strings.TrimSuffix(sqliteFile(uri), "marquee.db") + "marquee.key"
	if err := os.Remove(seal.RetiredKeys(keyFile)); err != nil {
		t.Fatal(err)
	}
	token := p.token
	p = procServe(t, uri)
	p.token = token
	p.wantConnections(450)
	p.signIn(admin, procPassword)
	p.stop()
	procWants(t, procRun(t, nil, "check", "--store", uri), "nothing is wrong")
}

// TestSecretsRotationIsResumed: whatever step a rotation is interrupted at, the next
// start goes on, and so does the command.
func TestSecretsRotationIsResumed(t *testing.T) {
	t.Parallel()
	uri := newSQLite(t)
	keyFile := strings.TrimSuffix(sqliteFile(uri), "marquee.db") + "marquee.key"
	p := procServe(t, uri)
	p.signIn(admin, procPassword)
	p.writeConnections(0, 20)
	p.kill()
	<-p.exited
	// The files have been replaced, and nothing has been encrypted anew.
	if err := seal.RotateKeyFile(keyFile); err != nil {
		t.Fatal(err)
	}
	p = procServe(t, uri)
	p.signIn(admin, procPassword)
	p.wantConnections(20)
	p.stderr.await(t, 0, procSays("all secrets are encrypted with the new key"))
	p.stop()
	// Without a server, the command does it itself.
	procWants(t, procRun(t, nil, "secrets", "rotate", "--store", uri), "all secrets are encrypted with the new key")
	if err := os.Remove(seal.RetiredKeys(keyFile)); err != nil {
		t.Fatal(err)
	}
	p = procServe(t, uri)
	p.signIn(admin, procPassword)
	p.wantConnections(20)
	p.stop()
}

// TestSecretsRotateOnADatabase: the servers of a database get the new key by their
// configuration, one after the other, while others still write with the old one.
func TestSecretsRotateOnADatabase(t *testing.T) {
	t.Parallel()
	uri := reusing(t)(t)
	old, fresh := procKey, base64.StdEncoding.EncodeToString([]byte(strings.Repeat("n", seal.KeyBytes)))
	serve := func(keys string) *proc {
		return procServeWith(t, uri, []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + procPassword, "MARQUEE_SECRET_KEY=" + keys})
	}
	first := serve(old + "," + fresh)
	first.signIn(admin, procPassword)
	first.writeConnections(0, 20)
	second := serve(fresh + "," + old)
	second.token = first.token
	second.stderr.await(t, 0, procSays("all secrets are encrypted with the new key"))
	first.writeConnections(20, 20) // with the old key
	second.writeConnections(40, 20)
	first.wantConnections(60)
	second.wantConnections(60)
	first.stop()
	procWants(t, procFails(t, nil, "secrets", "rotate", "--store", uri), "one key")
	procWants(t, procRun(t, []string{"MARQUEE_SECRET_KEY=" + fresh + "," + old}, "secrets", "rotate", "--store", uri), "all secrets are encrypted with the new key")
	third := serve(fresh)
	third.token = second.token
	third.wantConnections(60)
	third.signIn(admin, procPassword)
	second.stop()
	third.stop()
}
