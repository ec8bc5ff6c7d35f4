// Package base holds the JSON Schemas of the types that every application has:
// networks, users, roles, teams and tokens, with the shared definitions common/labels.json
// and common/reference.json. It imports nothing of the project; begin with Extend.
package base

import (
	"embed"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
)

// FS holds one type a file, and shared definitions in common.
//
//go:embed *.json common/*.json
var FS embed.FS

// Files are the files of FS, with those of an application in front of them.
type Files struct{ application fs.FS }

// Extend adds the files of an application to those of FS. A file that has the name
// of one of FS takes its place: an application that adds properties to roles brings
// the whole roles.json.
func Extend(application fs.FS) Files { return Files{application} }

// Open implements fs.FS.
func (f Files) Open(name string) (fs.File, error) {
	file, err := f.application.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return FS.Open(name)
	}
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil || !info.IsDir() {
		return file, err
	}
	entries, err := f.ReadDir(name)
	return &folder{File: file, rest: entries}, err
}

// folder is an open directory with the entries of both sides.
type folder struct {
	fs.File
	rest []fs.DirEntry
}

// ReadDir implements fs.ReadDirFile.
func (d *folder) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		entries := d.rest
		d.rest = nil
		return entries, nil
	}
	if len(d.rest) == 0 {
		return nil, io.EOF
	}
	entries := d.rest[:min(n, len(d.rest))]
	d.rest = d.rest[len(entries):]
	return entries, nil
}

// ReadFile implements fs.ReadFileFS.
func (f Files) ReadFile(name string) ([]byte, error) {
	data, err := fs.ReadFile(f.application, name)
	if errors.Is(err, fs.ErrNotExist) {
		return FS.ReadFile(name)
	}
	return data, err
}

// ReadDir implements fs.ReadDirFS.
func (f Files) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(f.application, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	own, missing := FS.ReadDir(name)
	if missing != nil {
		return entries, err
	}
	for _, entry := range own {
		if !slices.ContainsFunc(entries, func(other fs.DirEntry) bool { return other.Name() == entry.Name() }) {
			entries = append(entries, entry)
		}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}
