package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// opener opens a file of a package.
type opener func() (io.ReadCloser, error)

// openZip returns the files of a wheel.
func openZip(file string) (map[string]opener, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	files := map[string]opener{}
	for _, f := range archive.File {
		files[f.Name] = f.Open
	}
	return files, nil
}

// openTar returns the files of a gzipped archive.
func openTar(file string) (map[string]opener, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	files := map[string]opener{}
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			return nil, err
		}
		files[header.Name] = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	}
}

func read(files map[string]opener, name string) ([]byte, error) {
	open, known := files[name]
	if !known {
		return nil, fmt.Errorf("%s is missing", name)
	}
	file, err := open()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(file)
}

// table reads lines of tab-separated fields, each with a minimum number of fields.
func table(files map[string]opener, name string, fields int) ([][]string, error) {
	data, err := read(files, name)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for line := range strings.Lines(string(data)) {
		row := strings.Split(strings.TrimRight(line, "\r\n"), "\t")
		if len(row) < fields {
			return nil, fmt.Errorf("%s: line %d has %d fields", name, len(rows)+1, len(row))
		}
		rows = append(rows, row)
	}
	return rows, nil
}
