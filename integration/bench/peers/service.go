package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"
)

// password is that of all users of the peers, which listen on this machine alone.
const password = "correct-horse-battery-staple"

// service is a peer that is running.
type service struct {
	*peer
	process   *process
	client    *http.Client
	url       string
	database  string // its name
	variables map[string]string
	data      dataset
	created   int   // objects besides those of the dataset
	disk      int64 // bytes in the files of SQLite, after the dataset was loaded; 0 on MongoDB
}

// workshop is where peers are installed and run.
type workshop struct {
	root    string // of the repository
	folder  string // temporary, for the data of this run
	mongodb *database
	data    dataset

	installed map[string]bool // folders of peers
}

// open installs a peer, starts it and loads its objects.
func (w *workshop) open(ctx context.Context, p *peer) (*service, error) {
	if p.Store == "mongodb" && w.mongodb == nil {
		return nil, errNoDatabase
	}
	s := &service{peer: p, data: w.data, database: fmt.Sprintf("peer%d", p.Order)}
	s.client = &http.Client{Timeout: 2 * time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}}
	folder, err := w.equip(s)
	if err != nil {
		return nil, err
	}
	if !w.installed[p.Folder] {
		if err := s.run(ctx, folder, p.Install...); err != nil {
			return nil, fmt.Errorf("install: %w", err)
		}
		w.installed[p.Folder] = true
	}
	if err := s.run(ctx, folder, p.Before...); err != nil {
		return nil, fmt.Errorf("before the start: %w", err)
	}
	if err := s.start(ctx, folder); err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}
	err = s.load(ctx, w.mongodb)
	if err == nil && p.Store == "sqlite" {
		s.disk, err = sizeSQLite(ctx, s.variables["data"])
	}
	if err != nil {
		s.process.stop()
		return nil, fmt.Errorf("load: %w\n%s", err, s.process.complaint())
	}
	return s, nil
}

// equip gives the service folders, an address and its variables.
func (w *workshop) equip(s *service) (cache string, err error) {
	address, err := freeAddress()
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	data := filepath.Join(w.folder, s.database)
	if err := os.Mkdir(data, 0o700); err != nil {
		return "", err
	}
	cache = filepath.Join(w.root, ".cache", "peers", s.Folder)
	if s.Folder != "" {
		err = copyFolder(filepath.Join(w.root, "integration", "bench", "peers", s.Folder), cache)
	}
	s.url = "http://" + address
	s.variables = map[string]string{
		"root": w.root, "cache": cache, "data": data, "self": self, "address": address, "port": port, "url": s.url,
		"password": password, "processors": strconv.Itoa(runtime.NumCPU()), "folderSize": strconv.Itoa(s.data.folderSize()),
	}
	if w.mongodb != nil {
		s.variables["mongodb"] = w.mongodb.uri(s.database)
	}
	return cache, err
}

func (s *service) value(name string) (string, bool) {
	text, known := s.variables[name]
	return text, known
}

func (s *service) environment() (list []string, err error) {
	for name, t := range s.Env {
		text, err := t.render(s.value)
		if err != nil {
			return nil, err
		}
		list = append(list, name+"="+text)
	}
	return list, nil
}

func (c command) render(value values) (arguments []string, err error) {
	for _, t := range c {
		text, err := t.render(value)
		if err != nil {
			return nil, err
		}
		arguments = append(arguments, text)
	}
	return arguments, nil
}

func (s *service) run(ctx context.Context, folder string, commands ...command) error {
	ctx, cancel := context.WithTimeout(ctx, installLimit)
	defer cancel()
	environment, err := s.environment()
	if err != nil {
		return err
	}
	for _, c := range commands {
		arguments, err := c.render(s.value)
		if err != nil {
			return err
		}
		if err := run(ctx, folder, environment, arguments...); err != nil {
			return err
		}
	}
	return nil
}

func (s *service) start(ctx context.Context, folder string) error {
	environment, err := s.environment()
	if err != nil {
		return err
	}
	arguments, err := s.peer.Start.render(s.value)
	if err != nil {
		return err
	}
	ready, err := s.Ready.render(s.value)
	if err != nil {
		return err
	}
	if s.process, err = startProcess(folder, environment, arguments...); err != nil {
		return err
	}
	if err := s.process.await(ctx, s.url+ready); err != nil {
		return err
	}
	if err := s.sendAll(ctx, s.Prepare); err != nil {
		s.process.stop()
		return fmt.Errorf("%w\n%s", err, s.process.complaint())
	}
	return nil
}

// sendAll sends requests one after the other, and keeps what they are to save.
func (s *service) sendAll(ctx context.Context, requests []*request) error {
	for _, r := range requests {
		answer, err := s.send(ctx, r, s.value)
		if err != nil {
			return err
		}
		saved, err := r.saved(answer)
		if err != nil {
			return err
		}
		maps.Copy(s.variables, saved)
	}
	return nil
}

// load creates the folders and their objects.
func (s *service) load(ctx context.Context, d *database) error {
	if err := s.sendAll(ctx, s.SignIn); err != nil {
		return err
	}
	if err := s.loadAll(ctx, d, &s.Folders, s.data.folders+1, s.data.folder); err != nil {
		return err
	}
	return s.loadAll(ctx, d, &s.Objects, s.data.objects, s.data.object)
}

func (s *service) loadAll(ctx context.Context, d *database, l *loading, total int, object func(n int) map[string]string) error {
	for begin := 0; begin < total; begin += l.Size {
		n := min(l.Size, total-begin)
		if l.Request != nil {
			if _, err := s.sendMany(ctx, l.Request, begin, n, object); err != nil {
				return err
			}
			continue
		}
		documents := make([]string, n)
		for i := range documents {
			var err error
			if documents[i], err = l.Document.render(s.with(object(begin + i))); err != nil {
				return err
			}
		}
		if err := d.insert(ctx, s.database, l.Collection, documents); err != nil {
			return err
		}
	}
	return nil
}

// with is the variables of the service and of an object.
func (s *service) with(object map[string]string) values {
	return func(name string) (string, bool) {
		if text, known := object[name]; known {
			return text, true
		}
		return s.value(name)
	}
}

// sendMany sends a request with n objects, from the given one on.
func (s *service) sendMany(ctx context.Context, r *request, begin, n int, object func(n int) map[string]string) ([]byte, error) {
	items, err := r.items(begin, n, func(i int) values { return s.with(object(i)) })
	if err != nil {
		return nil, err
	}
	return s.send(ctx, r, s.with(map[string]string{"items": items}))
}

// send sends a request and returns the answer, if it is one of success.
func (s *service) send(ctx context.Context, r *request, value values) ([]byte, error) {
	request, err := r.build(ctx, s.url, value)
	if err != nil {
		return nil, err
	}
	response, err := s.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %d %.500s", request.Method, request.URL.Path, response.StatusCode, answer)
	}
	return answer, err
}
