package marquee_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing/fstest"

	"marquee"
	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/rest"
)

// notes is a folder of schemas, as os.DirFS and embed.FS are.
var notes = fstest.MapFS{"notes.json": {Data: []byte(`{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"title": "Note",
	"x-resource": {"path": "notes", "label": "text"},
	"type": "object",
	"required": ["text"],
	"properties": {"text": {"type": "string", "minLength": 1}, "words": {"type": "integer", "readOnly": true}}
}`)}}

// temporary is a folder for the examples; a program leaves Options.Folder out, or
// names one that stays.
func temporary() string {
	folder, err := os.MkdirTemp("", "marquee-example-")
	if err != nil {
		panic(err)
	}
	return folder
}

// The smallest server: types from a folder of schemas, and a user who can sign in.
func Example() {
	folder := temporary()
	defer os.RemoveAll(folder)
	server, err := marquee.New(marquee.Options{Folder: folder, Schemas: notes, First: marquee.First{Password: "correct horse battery"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	web := httptest.NewServer(server) // or http.ListenAndServe(":8080", server)
	defer web.Close()

	answer, err := http.Post(web.URL+"/api/authenticate", "application/x-www-form-urlencoded",
		strings.NewReader("grant_type=password&username=admin&password=correct+horse+battery"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer answer.Body.Close()
	fmt.Println(answer.StatusCode)
	// Output: 200
}

// Go code writes and reads objects without HTTP. Schemas and hooks hold for it, too.
func ExampleServer_Write() {
	folder := temporary()
	defer os.RemoveAll(folder)
	server, err := marquee.New(marquee.Options{Folder: folder, Schemas: notes})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	ctx := context.Background()
	if _, err := server.Write(ctx, "", "networks", map[string]any{"id": "main", "name": "Main"}); err != nil {
		fmt.Println(err)
	}
	ids, err := server.Write(ctx, "main", "notes", map[string]any{"id": "n", "text": "First"})
	fmt.Println(ids, err)
	note, err := server.Read(ctx, "main", "notes", "n")
	fmt.Println(note["text"], err)
	_, err = server.Write(ctx, "main", "notes", map[string]any{"text": ""})
	fmt.Println(err)
	// Output:
	// [n] <nil>
	// First <nil>
	// /text is too short: the minimum length is 1.
}

// A rule that a schema cannot express: a property that is computed from another.
func ExampleApplication_rule() {
	count := func(ctx context.Context, w *engine.Writing, changes []*engine.Change) error {
		for _, c := range changes {
			text, _ := c.After["text"].(string)
			c.After["words"] = int64(len(strings.Fields(text)))
		}
		return nil
	}
	example(marquee.Application{
		Schemas: notes,
		Hooks:   map[string]engine.Hooks{"notes": {BeforeValidate: count}},
	}, func(server *marquee.Server) {
		ctx := context.Background()
		if _, err := server.Write(ctx, "main", "notes", map[string]any{"id": "n", "text": "two words"}); err != nil {
			fmt.Println(err)
		}
		note, err := server.Read(ctx, "main", "notes", "n")
		fmt.Println(note["words"], err)
	})
	// Output: 2 <nil>
}

// A route beside those of the types.
func ExampleApplication_route() {
	example(marquee.Application{
		Schemas: notes,
		Routes: []rest.Route{{
			Path:    "/api/v1/time",
			Methods: []string{http.MethodGet},
			Public:  true,
			Serve: func(r *rest.Call) error {
				r.Answer(http.StatusOK, []byte(`{"hour": 12}`))
				return nil
			},
		}},
	}, func(server *marquee.Server) {
		answer := httptest.NewRecorder()
		server.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/api/v1/time", nil))
		body, _ := io.ReadAll(answer.Body)
		fmt.Println(answer.Code, string(body))
	})
	// Output: 200 {"hour": 12}
}

// messages are those of the program. Each code is unique, and is listed by
// /api/v1/messagedefinitions for translation.
var messages message.Set

var noteIsShouting = messages.Invalid("error.note.shouting", "{{field}} is written in capitals: {{text}}.")

// A rule with a message of its own.
func ExampleApplication_messages() {
	quiet := engine.Each(func(ctx context.Context, w *engine.Writing, c *engine.Change) error {
		if text, _ := c.After["text"].(string); text != "" && text == strings.ToUpper(text) {
			c.Refuse(noteIsShouting, "/text", message.Params{"text": text})
		}
		return nil
	})
	example(marquee.Application{
		Schemas:  notes,
		Messages: &messages,
		Hooks:    map[string]engine.Hooks{"notes": {Validate: quiet}},
	}, func(server *marquee.Server) {
		_, err := server.Write(context.Background(), "main", "notes", map[string]any{"text": "HELLO"})
		fmt.Println(noteIsShouting.Is(err), err)
	})
	// Output: true /text is written in capitals: HELLO.
}

// example serves an application, with a network, while run runs.
func example(application marquee.Application, run func(*marquee.Server)) {
	folder := temporary()
	defer os.RemoveAll(folder)
	server, err := marquee.New(marquee.Options{Folder: folder, Application: application, First: marquee.First{Password: "correct horse battery"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	run(server)
}
