package program

import (
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
)

// TestConfigurationOrder: a flag goes before the environment, and that before
// the file, whose name may come from the environment, too. The file that was
// created shows which one counted, so the test uses the embedded store alone.
func TestConfigurationOrder(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	dir := t.TempDir()
	config := process.File(t, filepath.Join(dir, "config.json"), fmt.Sprintf(`{"store": "sqlite:%s/file.db", "addr": "127.0.0.1:0",
"log_format": "json", "bootstrap_network": "from the file", "bootstrap_username": "admin", "bootstrap_password": %q, "demo": false,
"shutdown_timeout": "30s"}`, dir, process.Password))
	inEnv, inFlag := "sqlite:"+dir+"/env.db", "sqlite:"+dir+"/flag.db"
	for _, c := range []struct {
		name, made, network string
		env, args           []string
	}{
		{"file", "file.db", "from the file", nil, []string{"--config", config}},
		{"file named by the environment", "file.db", "from the file", []string{"MARQUEE_CONFIG=" + config}, nil},
		{"environment", "env.db", "from env",
			[]string{"MARQUEE_CONFIG=" + config, "MARQUEE_STORE=" + inEnv, "MARQUEE_BOOTSTRAP_NETWORK=from env"}, nil},
		{"flag", "flag.db", "from a flag",
			[]string{"MARQUEE_CONFIG=" + config, "MARQUEE_STORE=" + inEnv, "MARQUEE_BOOTSTRAP_NETWORK=from env"},
			[]string{"--store", inFlag, "--bootstrap-network", "from a flag"}},
		{"all at once", "flag.db", "from a flag", []string{"MARQUEE_VERSION=1.2", "MARQUEE_STORE=" + inEnv},
			[]string{"--config", config, "--store", inFlag}},
	} {
		p := process.Launch(t, process.Command(t, c.env, append([]string{"serve"}, c.args...)...))
		p.Listens()
		if _, err := os.Stat(filepath.Join(dir, c.made)); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		p.SignIn("admin", process.Password)
		process.Wants(t, string(p.Ask(http.StatusOK, http.MethodGet, "/api/v1/networks", "").Body), `"`+c.network+`"`)
		p.Stop()
	}
}

// TestConfigurationRefused: what is wrong is named, secrets are not shown, and
// nothing is left behind.
func TestConfigurationRefused(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	const secret = "hunter2secret"
	dir := t.TempDir()
	config := func(content string) string {
		return process.File(t, filepath.Join(dir, fmt.Sprintf("%d.json", len(content))), content)
	}
	schemas := filepath.Join(dir, "none")
	store := filepath.Join(dir, "refused.db")
	serve := func(more ...string) []string {
		return append([]string{"serve", "--addr", "127.0.0.1:0", "--store", "sqlite:" + store}, more...)
	}
	for _, c := range []struct {
		name      string
		env, args []string
		says      []string
	}{
		{"kind of store", nil, []string{"serve", "--store", "mongo://user:" + secret + "@localhost/db"}, []string{"mongo://…", "sqlite:PATH", "mongodb://HOST,…/DATABASE"}},
		{"kind of store, no slashes", nil, []string{"serve", "--store", "mongodb:" + secret}, []string{"sqlite:PATH"}},
		{"kind of store, environment", []string{"MARQUEE_STORE=" + secret}, []string{"serve"}, []string{"sqlite:PATH"}},
		{"kind of store, a user alone", []string{"MARQUEE_STORE=" + secret + ":x"}, []string{"init"}, []string{"sqlite:PATH"}},
		{"store without path", nil, []string{"serve", "--store", "sqlite:"}, []string{"sqlite:PATH"}},
		{"key", []string{"MARQUEE_SECRET_KEY=" + secret}, serve(), []string{"base64 of 32", "openssl rand"}},
		{"short key", []string{"MARQUEE_SECRET_KEY=" + base64.StdEncoding.EncodeToString([]byte(secret))}, serve(), []string{"base64 of 32"}},
		{"key file", nil, serve("--secret-key-file", process.File(t, filepath.Join(dir, "bad.key"), secret)), []string{"bad.key", "base64 of 32"}},
		{"flag", nil, serve("--bootstrap-pasword", secret), []string{"unknown flag --bootstrap-pasword"}},
		{"command", nil, []string{"server"}, []string{"unexpected argument server"}},
		{"no command", nil, nil, []string{"serve", "init", "import"}},
		{"duration", []string{"MARQUEE_READ_TIMEOUT=soon"}, serve(), []string{"--read-timeout", "soon"}},
		{"several", []string{"MARQUEE_READ_TIMEOUT=soon", "MARQUEE_MAX_STREAMS=many"}, serve("--log-level", "loud", "--slow=late", "--bootstrap-pasword", secret, "--schemas", schemas, "--help"),
			[]string{"--slow must be a time such as 30s, 15m or 2h, not \"late\"", "unknown flag --bootstrap-pasword", "--schemas", "--read-timeout", "(from MARQUEE_READ_TIMEOUT)", "--max-streams must be a whole number", "--log-level must be one of"}},
		{"log level", nil, serve("--log-level", "loud"), []string{"--log-level", "loud"}},
		{"log format", nil, serve("--log-format", "xml"), []string{"--log-format", "json"}},
		{"folder", nil, serve("--schemas", schemas), []string{"--schemas", "none"}},
		{"address", nil, serve("--addr", "127.0.0.1:99999"), []string{"99999"}},
		{"no file", nil, serve("--config", filepath.Join(dir, "missing.json")), []string{"there is no ", "missing.json"}},
		{"folder as file", nil, serve("--config", dir), []string{dir}},
		{"no JSON", nil, serve("--config", config(`{"bootstrap_password": "`+secret)), []string{".json", "line 1"}},
		{"no object", nil, serve("--config", config(`["`+secret+`"]`)), []string{".json", "object"}},
		{"twice", nil, serve("--config", config(`{"secret_key": "`+secret+`", "secret_key": "`+secret+`"}`)), []string{"/secret_key", "duplicated"}},
		{"misspelt", nil, serve("--config", config(`{"bootstrap_pasword": "`+secret+`"}`)), []string{".json", `"bootstrap_pasword"`}},
		{"flag's spelling", nil, serve("--config", config(`{"bootstrap-password": "`+secret+`"}`)), []string{`"bootstrap-password"`}},
		{"nested", nil, serve("--config", config(`{"secret_key": ["`+secret+`"]}`)), []string{"secret_key must be"}},
		{"value", nil, serve("--config", config(`{"read_timeout": "soon"}`)), []string{"--read-timeout", "soon"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := process.Fails(t, c.env, c.args...)
			process.Wants(t, out, append(c.says, "marquee")...)
			process.Shuns(t, out, secret, "goroutine", "level=INFO msg=listening")
			if strings.Count(out, "\n") > 12 && c.args != nil {
				t.Errorf("the message drowns:\n%s", out)
			}
		})
	}
}

// TestConfigurationKey: the key of the configuration goes before the file
// beside the store, which is not made then. It is of the embedded store alone:
// TestDatabaseKey is of databases.
func TestConfigurationKey(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	key := base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdef"))
	for _, how := range []string{"environment", "file"} {
		store := service.NewSQLite(t)
		env, args := []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + process.Password}, []string(nil)
		if how == "environment" {
			env = append(env, "MARQUEE_SECRET_KEY="+key)
			process.Wants(t, process.Run(t, env, "config"), "bootstrap_password ", "(set)", "environment")
		} else {
			args = []string{"--secret-key-file", process.File(t, filepath.Join(t.TempDir(), "key"), key)}
			env = []string{"MARQUEE_BOOTSTRAP_PASSWORD_FILE=" + process.File(t, filepath.Join(t.TempDir(), "password"), process.Password+"\n")}
		}
		p := process.ServeWith(t, store, env, args...)
		p.SignIn("admin", process.Password)
		p.Stop()
		if _, err := os.Stat(filepath.Join(filepath.Dir(service.SQLiteFile(store)), "marquee.key")); !os.IsNotExist(err) {
			t.Errorf("%s: there is a key file, too: %v", how, err)
		}
		process.Shuns(t, p.Stdout.String()+p.Stderr.String(), key)
		q := process.ServeWith(t, store, env, args...)
		q.Token = p.Token
		q.Ask(http.StatusOK, http.MethodGet, "/api/v1/networks", "")
		q.Stop()
	}
}

// TestPortTaken: the message names the address.
func TestPortTaken(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	out := process.Fails(t, nil, "serve", "--demo", "--addr", taken.Addr().String(), "--store", service.NewSQLite(t))
	process.Wants(t, out, "cannot listen at "+taken.Addr().String())
}
