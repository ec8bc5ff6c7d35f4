// Package resourcetest runs the advertising types on a new SQLite store, for tests of
// the rules of a type. It may import everything that the program does; begin with New.
package resourcetest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"

	"marquee"
	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/resources"
)

// Object is an object as clients send and receive it.
type Object = map[string]any

// network is the network of all objects.
const network = "main"

// caller may do everything in the network.
var caller = &engine.Caller{System: true, Grants: map[string]engine.Grant{network: {Network: true}}}

// Service writes and reads objects through the engine, with the hooks of all
// advertising types.
type Service struct {
	t      testing.TB
	engine *engine.Engine
}

// loadSchemas loads the schemas once for all tests of a package.
var loadSchemas = sync.OnceValues(func() (*schema.Registry, error) { return resources.LoadSchemas() })

// New returns a service on an empty store, which is closed at the end of the test.
func New(t testing.TB) *Service {
	t.Helper()
	registry, err := loadSchemas()
	if err != nil {
		t.Fatal(err)
	}
	server, err := marquee.Open(t.Context(), marquee.Options{Application: resources.New().Application(), Types: registry, Folder: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return &Service{t: t, engine: server.Engine()}
}

// Write creates or updates an object, and fails the test if the service refuses it.
func (s *Service) Write(typeName string, object Object) {
	s.t.Helper()
	if err := s.write(typeName, object); err != nil {
		s.t.Fatalf("%s %v: %v", typeName, object["id"], err)
	}
}

// Refused returns the codes of the faults of an object, and fails the test if the
// service accepts it.
func (s *Service) Refused(typeName string, object Object) (codes []string) {
	s.t.Helper()
	var refusal *message.Error
	if err := s.write(typeName, object); !errors.As(err, &refusal) {
		s.t.Fatalf("%s %v: the error is %v, want a refusal", typeName, object["id"], err)
	}
	for _, m := range refusal.Messages {
		codes = append(codes, m.Code())
	}
	return codes
}

func (s *Service) write(typeName string, object Object) error {
	batch := engine.Batch{Network: network, Operations: []engine.Operation{{Type: s.typeNamed(typeName), Object: object}}}
	_, err := s.engine.Write(context.Background(), caller, batch)
	return err
}

// Read returns an object as a client receives it.
func (s *Service) Read(typeName, id string) Object {
	s.t.Helper()
	found, err := s.engine.Get(s.t.Context(), caller, s.typeNamed(typeName), network, id, nil)
	if err != nil {
		s.t.Fatalf("%s %s: %v", typeName, id, err)
	}
	var object Object
	if err := json.Unmarshal(found.JSON, &object); err != nil {
		s.t.Fatal(err)
	}
	return object
}

// Warnings returns the sorted codes of the warnings of an object.
func (s *Service) Warnings(typeName, id string) (codes []string) {
	s.t.Helper()
	list, _ := s.Read(typeName, id)["validationWarnings"].([]any)
	for _, entry := range list {
		warning, _ := entry.(Object)
		code, _ := warning["code"].(string)
		codes = append(codes, code)
	}
	slices.Sort(codes)
	return codes
}

func (s *Service) typeNamed(name string) *schema.Type {
	s.t.Helper()
	t, err := s.engine.Type(name)
	if err != nil {
		s.t.Fatal(err)
	}
	return t
}

// IDs returns the ids of a list of references.
func IDs(references any) []string {
	list, _ := references.([]any)
	ids := make([]string, len(list))
	for i, entry := range list {
		ids[i] = ID(entry)
	}
	return ids
}

// ID returns the id of a reference, or "".
func ID(reference any) string {
	members, _ := reference.(Object)
	id, _ := members["id"].(string)
	return id
}
