package main

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

//go:embed *.json
var definitions embed.FS

// peer is the definition of a service that is compared: a file of this folder.
type peer struct {
	Extends    string // the definition that this one changes
	Order      int    // among the rows of the table
	Name       string
	Version    string
	Store      string // sqlite or mongodb
	Durability string // of a write that was answered
	Atomic     string // what of a batch is stored if a part of it fails
	Access     string // how the token of a request is checked
	Notes      string

	Folder  string     // with its files, beside the definition; copied to .cache/peers
	Install []command  // run in the copy
	Before  []command  // run in the copy before each start
	Start   command    // run in the copy
	Env     variables  // of all of them
	Ready   template   // path that is answered with 200 when the service is ready
	Prepare []*request // once, after the start
	SignIn  []*request // before each scenario

	Folders, Objects loading
	Scenarios        map[string]*request
}

type (
	command   []template
	variables map[string]template
)

// loading is how objects are created before the measurement: by a request, or, where
// that would take too long, in a collection of the database itself.
type loading struct {
	Request    *request
	Size       int // objects of a request
	Collection string
	Document   template // extended JSON
}

// request is a template of requests.
type request struct {
	Method  string
	Path    template
	Headers variables
	Body    template
	Item    template          // of the objects that {{items}} in the body stands for
	Save    map[string]string // variables, and the JSON pointers of their values in the answer
	Expect  []template        // texts in the answer
}

// scenario is a kind of request, sent by a number of clients.
type scenario struct {
	Key, Title string
	Clients    int
	Objects    int  // that a request counts as
	Creates    bool // new objects
}

// comparison is which scenarios there are, and which is the peer that the others of
// its store are compared with.
type comparison struct {
	FolderSize int
	Baseline   string // the beginning of the names of these peers
	Scenarios  []scenario
}

func loadComparison() (c comparison, err error) {
	return c, readJSON("comparison.json", &c)
}

// loadPeers returns all definitions by their order.
func loadPeers() ([]*peer, error) {
	var all []*peer
	files, err := fs.Glob(definitions, "peer-*.json")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		p, err := loadPeer(file)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *peer) int { return a.Order - b.Order })
	return all, nil
}

func loadPeer(file string) (*peer, error) {
	var head struct{ Extends string }
	if err := decodeFile(file, &head, false); err != nil {
		return nil, err
	}
	p := &peer{}
	if head.Extends != "" {
		base, err := loadPeer("peer-" + head.Extends + ".json")
		if err != nil {
			return nil, err
		}
		p = base
	}
	return p, readJSON(file, p)
}

func readJSON(file string, into any) error { return decodeFile(file, into, true) }

func decodeFile(file string, into any, strict bool) error {
	content, err := definitions.ReadFile(file)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(strings.NewReader(string(content)))
	if strict {
		decoder.DisallowUnknownFields()
	}
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("%s: %w", path.Base(file), err)
	}
	return nil
}
