package asset

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"marquee/engine/message"
	"marquee/resources/asset/assettest"
)

// blamed checks that an error is one for clients.
func blamed(t *testing.T, err error) {
	t.Helper()
	var known *message.Error
	if !errors.As(err, &known) || len(known.Messages) == 0 {
		t.Fatalf("%v", err)
	}
}

// A file is either refused, or an image with a size within the limits.
func FuzzImage(f *testing.F) {
	for _, content := range [][]byte{
		assettest.JPEG(3, 2), assettest.PNG(3, 2), withChunk(assettest.PNG(3, 2), "acTL", frames(3)), assettest.GIF(3, 2, 2),
		assettest.WebP("lossy", 3, 2, 1), assettest.WebP("lossless", 3, 2, 1), assettest.WebP("extended", 3, 2, 2), assettest.SVG(3, 2),
		[]byte("\ufeff<?xml version=\"1.0\"?><!DOCTYPE svg PUBLIC \"a\" \"b\">" + svgStart + `viewBox="0,0 1e1 2cm"><g>&#65;</g></svg>`),
		[]byte("<!doctype html>"), assettest.MP4(3, 2), assettest.ZIP(page),
	} {
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		k := sniff(content[:min(len(content), headBytes)])
		switch k {
		case nil, htmlKind, zipKind, mp4Kind:
			return
		}
		width, height, err := imageSize(k, bytes.NewReader(content))
		if err != nil {
			blamed(t, err)
			return
		}
		if width < 0 || height < 0 || k != svgKind && (width == 0 || height == 0 || width*height > maxPixels) {
			t.Fatalf("%s is %d by %d", k.id, width, height)
		}
	})
}

// A file is either refused, or a video with a size.
func FuzzVideo(f *testing.F) {
	f.Add(assettest.MP4(3, 2))
	f.Add(append(assettest.Box("ftyp", []byte("mp42\x00\x00\x00\x00mp41")), "\x00\x00\x00\x01moov\x00\x00\x00\x00\x00\x00\x00\x10\x00\x00\x00\x00free"...))
	f.Fuzz(func(t *testing.T, content []byte) {
		isVideo(content)
		width, height, err := videoSize(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			blamed(t, err)
		} else if width < 1 || height < 1 || width > 1<<16 || height > 1<<16 {
			t.Fatalf("%d by %d", width, height)
		}
	})
}

// A ZIP is either refused, or a bundle whose files can all be read, with safe paths.
func FuzzBundle(f *testing.F) {
	f.Add(assettest.ZIP(page, style, entry("a/b.png", string(assettest.PNG(1, 1)))))
	f.Add(assettest.ZIP(entry("../index.html", "<p>"), entry(`a\b.css`, ""), entry("/a.css", "")))
	f.Add(assettest.ZIP(entry("a/", ""), entry("a/index.html", strings.Repeat("x", 1000)), entry("__MACOSX/x", "")))
	f.Fuzz(func(t *testing.T, content []byte) {
		files, err := readBundle(bytes.NewReader(content), int64(len(content)), testUnpacked)
		if err != nil {
			blamed(t, err)
			return
		}
		seen := map[string]bool{}
		for _, file := range files {
			if !validEntryPath(file.path) || strings.Contains("/"+file.path+"/", "/../") || seen[file.path] {
				t.Fatalf("%q is delivered", file.path)
			}
			seen[file.path] = true
			in, err := file.open()
			if err != nil {
				t.Fatal(err)
			}
			if n, err := io.Copy(io.Discard, in); err != nil || n != file.size {
				t.Fatalf("%q has %d bytes, not %d: %v", file.path, n, file.size, err)
			}
		}
		if primary, err := primaryOf(files); err != nil {
			blamed(t, err)
		} else if !seen[primary] {
			t.Fatalf("%q is the first page", primary)
		}
	})
}

// The path of a file with any name leads to its delivery, and its name is a single
// value of a header.
func FuzzPlaces(f *testing.F) {
	for _, name := range []string{"", "a.png", "../a", `C:\a"b.png`, "a\r\nb", "a b/c?d#e%20", "\xff", "日本.png"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, sent string) {
		name := fileName(sent, pngKind)
		if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00\r\n") {
			t.Fatalf("%q is called %q", sent, name)
		}
		at := deliveryPath("NAME", name)
		if deliveryName(at) != "NAME" || strings.Count(at, "/") != 3 || strings.ContainsAny(at, "?# \"<>\\") {
			t.Fatalf("%q is delivered at %q", name, at)
		}
		for _, b := range []byte(disposition(name)) {
			if b < 0x20 || b > 0x7e {
				t.Fatalf("%q has the header %q", name, disposition(name))
			}
		}
	})
}
