package marquee_test

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"marquee"
	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/rest"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/engine/store/sqlite"
)

func open(t *testing.T, options marquee.Options) *marquee.Server {
	t.Helper()
	s, err := marquee.New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func ownStore(t *testing.T) store.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "own.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// Every option has a default, and an application every part.
func TestDefaults(t *testing.T) {
	t.Chdir(t.TempDir())
	s := open(t, marquee.Options{})
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/api/v1/networks": 401, "/.well-known/jwks.json": 200, "/elsewhere": 404} {
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
		if answer.Code != want {
			t.Errorf("%s: the status is %d, want %d", path, answer.Code, want)
		}
	}
	if err := s.Pass(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if _, err := s.Read(t.Context(), "", "networks", "none"); !message.ObjectNotFound.Is(err) {
		t.Errorf("the error is %v", err)
	}
	if _, err := s.Write(t.Context(), "", "nothing", nil); !message.TypeUnknown.Is(err) {
		t.Errorf("the error is %v", err)
	}
	if ids, err := s.Write(t.Context(), "", "networks"); err != nil || len(ids) > 0 {
		t.Errorf("no objects: %v, %v", ids, err)
	}
}

// The metadata of the token endpoint names the URL at which clients reach the server,
// whatever the Host of the request.
func TestPublicURL(t *testing.T) {
	t.Chdir(t.TempDir())
	s := open(t, marquee.Options{PublicURL: "https://ads.example.com/base"})
	answer := httptest.NewRecorder()
	s.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "http://evil.example/.well-known/oauth-authorization-server", nil))
	for _, want := range []string{`"issuer":"https://ads.example.com/base"`, `"token_endpoint":"https://ads.example.com/base/api/authenticate"`} {
		if body := answer.Body.String(); !strings.Contains(body, want) || strings.Contains(body, "evil") {
			t.Errorf("there is no %s in %s", want, body)
		}
	}
}

// A store that the program has opened stays open, and its data is served by the next server.
func TestOwnStore(t *testing.T) {
	own := ownStore(t)
	for i := range 2 {
		s, err := marquee.New(marquee.Options{Store: own, Schemas: notes, First: marquee.First{Network: "ward", Username: "kari", Password: "correct horse battery"}})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if _, err := s.Write(t.Context(), "ward", "notes", map[string]any{"id": "n", "text": "First"}); err != nil {
				t.Fatal(err)
			}
		}
		if note, err := s.Read(t.Context(), "ward", "notes", "n"); err != nil || note["text"] != "First" {
			t.Errorf("the note is %v (%v)", note, err)
		}
		tokens, err := s.Auth().Sessions.SignIn(t.Context(), "", "kari", "correct horse battery", "ward")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Auth().Caller(t.Context(), tokens.AccessToken); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := own.Check(t.Context()); err != nil {
		t.Errorf("the store was closed: %v", err)
	}
}

func TestSecretsNeedASealer(t *testing.T) {
	secrets := fstest.MapFS{"keys.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "x-resource": {"path": "keys"},
		"type": "object", "properties": {"key": {"type": "string", "x-secret": true}}}`)}}
	_, err := marquee.New(marquee.Options{Store: ownStore(t), Schemas: secrets})
	if err == nil || !strings.Contains(err.Error(), "the type keys has secrets") {
		t.Errorf("the error is %v", err)
	}
	s := open(t, marquee.Options{Store: ownStore(t)})
	app := marquee.Application{}
	types, err := app.Load(schema.Source{Name: "schemas", FS: secrets})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Migrate(t.Context(), types); err == nil {
		t.Error("types with secrets are served without a sealer")
	}
	s = open(t, marquee.Options{Folder: t.TempDir(), Schemas: secrets})
	if _, err := s.Write(t.Context(), "", "networks", map[string]any{"id": "main", "name": "Main"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write(t.Context(), "main", "keys", map[string]any{"id": "k", "key": "plain"}); err != nil {
		t.Fatal(err)
	}
	if object, err := s.Read(t.Context(), "main", "keys", "k"); err != nil || object["key"] != "plain" {
		t.Errorf("%v, %v", object, err)
	}
}

// What is wrong with an application is an error of New.
func TestApplicationsAreChecked(t *testing.T) {
	var twice message.Set
	twice.Invalid("error.value.type", "Mine.")
	serve := func(*rest.Call) error { return nil }
	for says, app := range map[string]marquee.Application{
		"error.value.type is defined twice": {Messages: &twice},
		"needs a path that begins":          {Routes: []rest.Route{{Path: "api/v1/x", Methods: []string{"GET"}, Serve: serve}}},
		"notes is a path of the service":    {Schemas: notes, Routes: []rest.Route{{Path: "/api/v1/notes/open", Methods: []string{"GET"}, Serve: serve}}},
		"is not valid JSON":                 {Schemas: fstest.MapFS{"x.json": {Data: []byte("x")}}},
	} {
		_, err := marquee.New(marquee.Options{Folder: t.TempDir(), Application: app})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("the error is %v, want %q", err, says)
		}
	}
}

// The hooks of an application run after those of the sign-in, on the same types.
func TestHooksOfUsers(t *testing.T) {
	var lower message.Set
	mustBeLower := lower.Invalid("error.username.upper", "{{field}} must be lower-case.")
	s := open(t, marquee.Options{Folder: t.TempDir(), Application: marquee.Application{Messages: &lower, Hooks: map[string]engine.Hooks{
		"users": {Validate: engine.Each(func(ctx context.Context, w *engine.Writing, c *engine.Change) error {
			if name, _ := c.After["username"].(string); name != strings.ToLower(name) {
				c.Refuse(mustBeLower, "/username", nil)
			}
			return nil
		})}}}})
	if _, err := s.Write(t.Context(), "", "users", map[string]any{"username": "Kari"}); !mustBeLower.Is(err) {
		t.Errorf("the error is %v", err)
	}
	if _, err := s.Write(t.Context(), "", "users", map[string]any{"id": "k", "username": "kari", "password": "correct horse battery"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Auth().Sessions.SignIn(t.Context(), "", "kari", "correct horse battery", ""); err != nil {
		t.Errorf("the password is not set: %v", err)
	}
}

// A folder of schemas is watched: a new type is served without a restart, and a set
// with a mistake leaves the previous one.
func TestSchemaFolder(t *testing.T) {
	dir := t.TempDir()
	logged := make(chan string, 100)
	s := open(t, marquee.Options{Store: ownStore(t), SchemaFolder: dir, Log: slog.New(logMessages(logged))})
	write := func(name, text, want string) {
		t.Helper()
		// The file is renamed into the folder, so that no half of it is read.
		file := filepath.Join(t.TempDir(), name)
		if err := errors.Join(os.WriteFile(file, []byte(text), 0o600), os.Rename(file, filepath.Join(dir, name))); err != nil {
			t.Fatal(err)
		}
		for message := range logged {
			if strings.Contains(message, want) {
				return
			}
		}
	}
	write("wards.json", `{"$schema": "https://json-schema.org/draft/2020-12/schema", "x-resource": {"path": "wards"}, "type": "object", "properties": {"name": {"type": "string"}}}`, "schemas loaded")
	if _, err := s.Engine().Type("wards"); err != nil {
		t.Error(err)
	}
	write("wards.json", `{`, "the schemas were refused; the previous ones remain")
	if _, err := s.Engine().Type("wards"); err != nil {
		t.Error(err)
	}
	if _, err := marquee.New(marquee.Options{Store: ownStore(t), SchemaFolder: filepath.Join(dir, "missing")}); err == nil {
		t.Error("a folder that does not exist was accepted")
	}
}

// logMessages is a log that passes on its messages.
type logMessages chan<- string

func (m logMessages) Enabled(context.Context, slog.Level) bool { return true }

func (m logMessages) Handle(_ context.Context, r slog.Record) error {
	select {
	case m <- r.Message:
	default:
	}
	return nil
}

func (m logMessages) WithAttrs([]slog.Attr) slog.Handler { return m }
func (m logMessages) WithGroup(string) slog.Handler      { return m }

// A store is opened only for the application that it was made for.
func TestStoreOfAnotherApplication(t *testing.T) {
	for made, opened := range map[string]string{"hospital": "", "": "hospital"} {
		own := ownStore(t)
		for range 2 { // the second time on a store that has its name
			s, err := marquee.New(marquee.Options{Store: own, Application: marquee.Application{Name: made}})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		_, err := marquee.New(marquee.Options{Store: own, Application: marquee.Application{Name: opened, Schemas: notes}})
		var other *marquee.ApplicationError
		if !errors.As(err, &other) || other.Stored != cmp.Or(made, "none") || other.Opened != cmp.Or(opened, "none") {
			t.Errorf("the store of %q was opened for %q: %v", made, opened, err)
		}
		if s, err := marquee.New(marquee.Options{Store: own, Application: marquee.Application{Name: made}}); err != nil {
			t.Errorf("the store is not as it was: %v", err)
		} else if _, err := s.Engine().Type("notes"); err == nil {
			t.Error("types of the refused application are served")
		}
	}
}
