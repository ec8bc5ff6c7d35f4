package asset

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"marquee/engine/message"
	"marquee/engine/spool"
	"marquee/resources/asset/assettest"
	"marquee/resources/catalogue"
)

// testUnpacked is the maximum unpacked size of bundles.
const testUnpacked = 32 << 20

// spooled returns an uploaded file with some content.
func spooled(t testing.TB, content []byte) *received {
	t.Helper()
	file := receive(spool.New(t.TempDir(), 0).Create(context.Background(), ""))
	t.Cleanup(func() {
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := file.Write(content); err != nil {
		t.Fatal(err)
	}
	return file
}

const svgStart = `<svg xmlns="http://www.w3.org/2000/svg" `

// withChunk returns a PNG with a chunk after its header.
func withChunk(png []byte, name string, data []byte) []byte {
	body := append([]byte(name), data...)
	chunk := append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), body...)
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(body))
	return slices.Concat(png[:33], chunk, png[33:])
}

func frames(n uint32) []byte { return append(binary.BigEndian.AppendUint32(nil, n), 0, 0, 0, 0) }

// pngOf returns a PNG with a false size in its header.
func pngOf(width, height uint32) []byte {
	png := assettest.PNG(1, 1)
	binary.BigEndian.PutUint32(png[16:], width)
	binary.BigEndian.PutUint32(png[20:], height)
	binary.BigEndian.PutUint32(png[29:], crc32.ChecksumIEEE(png[12:29]))
	return png
}

func TestInspectTakes(t *testing.T) {
	gif := assettest.GIF(7, 5, 2)
	for name, c := range map[string]struct {
		content       []byte
		kind          *kind
		width, height int64
	}{
		"jpeg":                   {assettest.JPEG(30, 20), jpegKind, 30, 20},
		"png":                    {assettest.PNG(31, 21), pngKind, 31, 21},
		"animated png":           {withChunk(assettest.PNG(31, 21), "acTL", frames(10)), pngKind, 31, 21},
		"as many pixels as may":  {pngOf(10_000, 10_000), pngKind, 10_000, 10_000},
		"gif":                    {gif, gifKind, 7, 5},
		"gif without a trailer":  {gif[:len(gif)-1], gifKind, 7, 5},
		"lossy webp":             {assettest.WebP("lossy", 640, 480, 1), webpKind, 640, 480},
		"lossless webp":          {assettest.WebP("lossless", 16384, 3, 1), webpKind, 16384, 3},
		"animated webp":          {assettest.WebP("extended", 70_000, 100, 3), webpKind, 70_000, 100},
		"mp4":                    {assettest.MP4(1920, 1080), mp4Kind, 1920, 1080},
		"svg":                    {assettest.SVG(300, 250), svgKind, 300, 250},
		"svg with all before it": {[]byte("\ufeff<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- <p> -->\n<!DOCTYPE svg PUBLIC \"-//W3C//DTD SVG 1.1//EN\" \"http://x/svg11.dtd\">\n" + svgStart + `width="10mm" height="1e1px"><p>&amp;</p></svg> <!-- end -->`), svgKind, 38, 10},
		"svg with many attributes, texts and comments": {[]byte(svgStart + `width="2in" height="3pt"` + strings.Repeat(` b=""`, maxAttributes-3) + `>` +
			strings.Repeat("<!-- = --> = <p c=''>=</p>", maxAttributes) + `</svg>`), svgKind, 192, 4},
		"svg in ascii":      {[]byte(`<?xml version="1.0" encoding="US-ASCII"?>` + svgStart + `width="2in" height="3pt"/>`), svgKind, 192, 4},
		"svg with a prefix": {[]byte(`<s:svg xmlns:s="http://www.w3.org/2000/svg" width="1.4" height="1.5"/>`), svgKind, 1, 2},
		"svg by its box":    {[]byte(svgStart + `width="100%" height="3em" viewBox="-5 -5, 40.2	 50"/>`), svgKind, 40, 50},
		"svg of no size":    {[]byte(svgStart + `width="NaN" height="1e300" viewBox="0 0 0 1"/>`), svgKind, 0, 0},
		"html":              {[]byte("\n\t<!doctype HTML><p>"), htmlKind, 0, 0},
		"html with a mark":  {[]byte("\ufeff<html></html>"), htmlKind, 0, 0},
		"html of a comment": {[]byte("<!-- x --><div>&nbsp;</div>"), htmlKind, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := inspect(t.Context(), spooled(t, c.content), `folder\a.b`, testUnpacked)
			if err != nil {
				t.Fatal(err)
			}
			if f.kind != c.kind || f.width != c.width || f.height != c.height || f.size != int64(len(c.content)) || f.fileName != "a.b" || f.primary != "a.b" {
				t.Errorf("%+v", f)
			}
			checkFiles(t, f, map[string]string{"a.b": c.kind.media})
		})
	}
}

// checkFiles reads the files to deliver twice.
func checkFiles(t *testing.T, f facts, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for _, file := range f.files {
		got[file.path] = file.media
		for range 2 {
			in, err := file.open()
			if err != nil {
				t.Fatal(err)
			}
			content, err := io.ReadAll(in)
			if err := errors.Join(err, in.Close()); err != nil {
				t.Fatal(err)
			}
			if sum := spooled(t, content).sum(); sum != file.sum || int64(len(content)) != file.size {
				t.Errorf("%s: %d bytes with the hash %s, not %d with %s", file.path, len(content), sum, file.size, file.sum)
			}
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("delivered is %v, not %v", got, want)
	}
}

func TestInspectRefuses(t *testing.T) {
	gif, mp4, webp := assettest.GIF(7, 5, 2), assettest.MP4(10, 10), assettest.WebP("extended", 10, 10, 2)
	comment := "<!--" + strings.Repeat("a", maxTokenBytes/2) + "-->" // few tokens, as each takes time
	largeSVG := []byte(svgStart + ">" + strings.Repeat(comment, maxSVGBytes/len(comment)+1) + "</svg>")
	for name, c := range map[string]struct {
		content []byte
		want    *message.Definition
	}{
		"nothing":                         {nil, catalogue.AssetType},
		"text":                            {[]byte("hello"), catalogue.AssetType},
		"xml":                             {[]byte(`<?xml version="1.0"?><p/>`), catalogue.AssetType},
		"pdf":                             {[]byte("%PDF-1.4 ..."), catalogue.AssetType},
		"avif":                            {assettest.Box("ftyp", []byte("avif\x00\x00\x00\x00avifmif1mp42")), catalogue.AssetType},
		"quicktime":                       {assettest.Box("ftyp", []byte("qt  \x00\x00\x00\x00qt  ")), catalogue.AssetType},
		"riff of sound":                   {[]byte("RIFF\x10\x00\x00\x00WAVEfmt "), catalogue.AssetType},
		"jpeg cut off":                    {assettest.JPEG(30, 20)[:30], catalogue.AssetDamaged},
		"png cut off":                     {assettest.PNG(30, 20)[:40], catalogue.AssetDamaged},
		"png with a broken header":        {append(assettest.PNG(30, 20)[:32], 0), catalogue.AssetDamaged},
		"png of no width":                 {pngOf(0, 1), catalogue.AssetDamaged},
		"gif cut off":                     {gif[:len(gif)-5], catalogue.AssetDamaged},
		"gif without an image":            {append(bytes.Clone(gif[:13]), 0x3b), catalogue.AssetDamaged},
		"gif with a block of no kind":     {append(bytes.Clone(gif[:len(gif)-1]), 0x77), catalogue.AssetDamaged},
		"webp cut off":                    {webp[:len(webp)-5], catalogue.AssetDamaged},
		"webp without an image":           {webp[:30], catalogue.AssetDamaged},
		"webp with a chunk of no kind":    {append(bytes.Clone(webp[:12]), "ABCD\x0a\x00\x00\x00aaaaaaaaaa"...), catalogue.AssetDamaged},
		"mp4 cut off":                     {mp4[:len(mp4)-5], catalogue.AssetDamaged},
		"mp4 without a movie":             {mp4[:40], catalogue.AssetDamaged},
		"mp4 of sound alone":              {bytes.ReplaceAll(mp4, []byte("vide"), []byte("soun")), catalogue.AssetDamaged},
		"mp4 with a box of no size":       {append(bytes.Clone(mp4), 0, 0, 0, 4, 'f', 'r', 'e', 'e'), catalogue.AssetDamaged},
		"mp4 of boxes alone":              {append(bytes.Clone(mp4), bytes.Repeat(assettest.Box("free"), maxBoxes)...), catalogue.AssetDamaged},
		"too many pixels":                 {pngOf(10_000, 10_001), catalogue.AssetPixels},
		"far too many pixels":             {pngOf(1<<31-1, 1<<31-1), catalogue.AssetPixels},
		"too many frames":                 {withChunk(pngOf(10_000, 1000), "acTL", frames(11)), catalogue.AssetPixels},
		"far too many frames":             {withChunk(pngOf(1, 1), "acTL", frames(1<<32-1)), catalogue.AssetPixels},
		"too many frames of a gif":        {append(bytes.Clone(gif[:6]), append([]byte("\xff\xff\xff\xff"), gif[10:]...)...), catalogue.AssetPixels},
		"too many frames of a webp":       {assettest.WebP("extended", 16_000, 6000, 2), catalogue.AssetPixels},
		"svg that is not closed":          {[]byte(svgStart + `>`), catalogue.AssetMarkup},
		"svg of another namespace":        {[]byte(`<svg xmlns="http://www.w3.org/2001/svg"/>`), catalogue.AssetMarkup},
		"svg of no namespace":             {[]byte(`<svg/>`), catalogue.AssetMarkup},
		"svg and another":                 {[]byte(svgStart + `/>` + svgStart + `/>`), catalogue.AssetMarkup},
		"svg and text":                    {[]byte(svgStart + `/>text`), catalogue.AssetMarkup},
		"svg that declares entities":      {[]byte(`<!DOCTYPE svg [<!ENTITY a "b">]>` + svgStart + `>&a;</svg>`), catalogue.AssetMarkup},
		"svg that declares":               {[]byte(`<!DOCTYPE svg [ ]>` + svgStart + `/>`), catalogue.AssetMarkup},
		"svg with an unknown entity":      {[]byte(svgStart + `>&nbsp;</svg>`), catalogue.AssetMarkup},
		"svg with a late doctype":         {[]byte(svgStart + `><!DOCTYPE svg></svg>`), catalogue.AssetMarkup},
		"svg in utf-16":                   {[]byte(`<?xml version="1.0" encoding="utf-16"?>` + svgStart + `/>`), catalogue.AssetType},
		"svg that is no utf-8":            {[]byte(svgStart + ">\xff</svg>"), catalogue.AssetMarkup},
		"svg nested too deep":             {[]byte(svgStart + ">" + strings.Repeat("<g>", maxSVGLevels) + strings.Repeat("</g>", maxSVGLevels) + "</svg>"), catalogue.AssetMarkup},
		"svg with an attribute too large": {[]byte(svgStart + `><a a="` + strings.Repeat("a", maxTokenBytes) + `"/></svg>`), catalogue.AssetToken},
		"svg with a text too large":       {[]byte(svgStart + `>` + strings.Repeat("a", maxTokenBytes+1) + `</svg>`), catalogue.AssetToken},
		"svg with a comment too large":    {[]byte(svgStart + `><!--` + strings.Repeat("a>", maxTokenBytes/2) + `--></svg>`), catalogue.AssetToken},
		"svg with too many attributes":    {[]byte(svgStart + `><a>text<b ` + strings.Repeat(`a="" `, maxAttributes+1) + `/></a></svg>`), catalogue.AssetToken},
		"svg too large":                   {largeSVG, catalogue.AssetTooLarge},
		"zip cut off":                     {assettest.ZIP(page, style)[:60], catalogue.BundleDamaged},
		"zip without entries":             {assettest.ZIP(), catalogue.BundlePrimary},
		"zip without a page":              {assettest.ZIP(style), catalogue.BundlePrimary},
		"zip with two pages":              {assettest.ZIP(entry("a.html", ""), entry("b/index.html", "")), catalogue.BundlePrimary},
		"path upwards":                    {assettest.ZIP(page, entry("../a.css", "")), catalogue.BundlePath},
		"path with .. in it":              {assettest.ZIP(page, entry("a/../a.css", "")), catalogue.BundlePath},
		"path with . in it":               {assettest.ZIP(page, entry("./a.css", "")), catalogue.BundlePath},
		"absolute path":                   {assettest.ZIP(page, entry("/a.css", "")), catalogue.BundlePath},
		"path of a drive":                 {assettest.ZIP(page, entry("c:a.css", "")), catalogue.BundlePath},
		"backslashes":                     {assettest.ZIP(page, entry(`a\a.css`, "")), catalogue.BundlePath},
		"empty part":                      {assettest.ZIP(page, entry("a//a.css", "")), catalogue.BundlePath},
		"control character":               {assettest.ZIP(page, entry("a\n.css", "")), catalogue.BundlePath},
		"no utf-8":                        {assettest.ZIP(page, entry("\xff.css", "")), catalogue.BundlePath},
		"no name":                         {assettest.ZIP(page, entry("", "")), catalogue.BundlePath},
		"long path":                       {assettest.ZIP(page, entry(strings.Repeat("a", 252)+".css", "")), catalogue.BundlePath},
		"deep path":                       {assettest.ZIP(page, entry(strings.Repeat("a/", 16)+"a.css", "")), catalogue.BundlePath},
		"folder upwards":                  {assettest.ZIP(page, entry("../", "")), catalogue.BundlePath},
		"twice the same":                  {assettest.ZIP(page, style, style), catalogue.BundleRepeated},
		"twice the same folder":           {assettest.ZIP(page, entry("a/", ""), entry("a/", "")), catalogue.BundleRepeated},
		"link": {assettest.ZIP(page, assettest.Entry{Name: "a.css", Content: "/etc/passwd",
			Change: func(h *zip.FileHeader) { h.SetMode(fs.ModeSymlink | 0o777) }}), catalogue.BundleLink},
		"device": {assettest.ZIP(page, assettest.Entry{Name: "a.css",
			Change: func(h *zip.FileHeader) { h.SetMode(fs.ModeDevice | 0o777) }}), catalogue.BundleLink},
		"encrypted": {assettest.ZIP(page, assettest.Entry{Name: "a.css", Content: "x",
			Change: func(h *zip.FileHeader) { h.Flags |= 1 }}), catalogue.BundleEncrypted},
		"entry of no type":       {assettest.ZIP(page, entry("a.exe", "")), catalogue.BundleEntryType},
		"bundle in a bundle":     {assettest.ZIP(page, entry("a.zip", string(assettest.ZIP(page)))), catalogue.BundleEntryType},
		"entry of another type":  {assettest.ZIP(page, entry("a.png", string(assettest.JPEG(1, 1)))), catalogue.BundleEntryType},
		"entry that is damaged":  {assettest.ZIP(page, entry("a.png", string(assettest.PNG(1, 1)[:40]))), catalogue.BundleEntryType},
		"entry that is no video": {assettest.ZIP(page, entry("a.mp4", "text")), catalogue.BundleEntryType},
		"entry that is no font":  {assettest.ZIP(page, entry("a.woff2", "wOFF")), catalogue.BundleEntryType},
		"entry that is no svg":   {assettest.ZIP(page, entry("a.svg", "<svg>")), catalogue.BundleEntryType},
		"entry of too many":      {assettest.ZIP(page, entry("a.png", string(pngOf(1<<20, 1<<20)))), catalogue.AssetPixels},
		"entry that is too large": {assettest.ZIP(page, assettest.Entry{Name: "a.svg", Content: string(largeSVG),
			Change: func(h *zip.FileHeader) { h.Method = zip.Store }}), catalogue.AssetTooLarge},
		"too many entries":     {assettest.ZIP(slices.Collect(many(maxEntries + 1))...), catalogue.BundleEntries},
		"far too many entries": {assettest.ZIP(slices.Collect(many(60_000))...), catalogue.BundleEntries},
		"bomb":                 {assettest.ZIP(page, entry("a.css", strings.Repeat(" ", 2<<20))), catalogue.BundleRatio},
		"entry cut off":        {broken(assettest.ZIP(entry("index.html", strings.Repeat("<p>", 1000)))), catalogue.BundleDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := inspect(t.Context(), spooled(t, c.content), "a", testUnpacked)
			if !c.want.Is(err) {
				t.Fatalf("%v, %+v", err, f)
			}
			if text := err.Error(); strings.Contains(text, "{{") && !strings.Contains(text, "{{field}}") {
				t.Error(text)
			}
		})
	}
}

var (
	page  = entry("index.html", "<p>")
	style = entry("style.css", "p {}")
)

func entry(name, content string) assettest.Entry {
	return assettest.Entry{Name: name, Content: content}
}

func many(n int) func(func(assettest.Entry) bool) {
	return func(yield func(assettest.Entry) bool) {
		for i := range n {
			if !yield(entry(fmt.Sprintf("%d.css", i), "")) {
				return
			}
		}
	}
}

// broken returns a ZIP with one byte changed in its first entry.
func broken(file []byte) []byte {
	file[45] ^= 0xff
	return file
}

// A bundle is too large if its entries are together, although none is by itself.
func TestBundleTooLarge(t *testing.T) {
	block := strings.Repeat("0123456789abcdef", 1<<16) // a MiB: the ratio counts beyond it
	var entries []assettest.Entry
	for i := range testUnpacked >> 20 {
		entries = append(entries, entry(fmt.Sprintf("%d.css", i), block))
	}
	entries[0].Name = "index.html"
	if _, err := inspect(t.Context(), spooled(t, assettest.ZIP(entries...)), "a", testUnpacked); err != nil {
		t.Error("a bundle of as much as is taken:", err)
	}
	if _, err := inspect(t.Context(), spooled(t, assettest.ZIP(append(entries, style)...)), "a", testUnpacked); !catalogue.BundleTooLarge.Is(err) {
		t.Error("a bundle of more:", err)
	}
}

func TestBundle(t *testing.T) {
	content := assettest.ZIP(
		entry("banner/", ""), entry("banner/index.html", "<p>"), entry("banner/a b.CSS", "p {}"), entry("__MACOSX/banner/._index.html", "x"),
		entry("banner/.DS_Store", "x"), entry("banner/i/p.png", string(assettest.PNG(3, 3))), entry("banner/i/d.svg", string(assettest.SVG(3, 3))),
		entry("banner/v.mp4", string(assettest.MP4(3, 3))), entry("banner/f.woff2", "wOF2..."), entry("banner/copy.png", string(assettest.PNG(3, 3))))
	f, err := inspect(t.Context(), spooled(t, content), "banner.zip", testUnpacked)
	if err != nil {
		t.Fatal(err)
	}
	if f.kind != zipKind || f.primary != "banner/index.html" || f.fileName != "banner.zip" || f.width != 0 {
		t.Errorf("%+v", f)
	}
	checkFiles(t, f, map[string]string{"banner/index.html": "text/html", "banner/a b.CSS": "text/css", "banner/i/p.png": "image/png",
		"banner/i/d.svg": "image/svg+xml", "banner/v.mp4": "video/mp4", "banner/f.woff2": "font/woff2", "banner/copy.png": "image/png"})
	two, err := inspect(t.Context(), spooled(t, assettest.ZIP(entry("a.html", ""), page)), "b.zip", testUnpacked)
	if err != nil || two.primary != "index.html" {
		t.Error(two.primary, err)
	}
}

func TestFileNames(t *testing.T) {
	for sent, want := range map[string]string{
		"": "file.png", "a.png": "a.png", "/tmp/a.png": "a.png", `C:\x\a.png`: "a.png", "..": "file.png", "a/..": "file.png", ".": "file.png",
		" a b.png ": "a b.png", "a\x00\n\u202egnp.exe": "agnp.exe", "\xffx": "x", "日本.png": "日本.png", "x/": "file.png",
	} {
		if got := fileName(sent, pngKind); got != want {
			t.Errorf("%q is %q, not %q", sent, got, want)
		}
	}
	for name, want := range map[string]string{
		"a.png": "inline; filename=a.png", `a "b".png`: `inline; filename="a \"b\".png"`, "é.png": "inline; filename*=utf-8''%C3%A9.png",
		"a\r\nX: y": "inline; filename*=utf-8''a%0D%0AX%3A%20y",
	} {
		if got := disposition(name); got != want {
			t.Errorf("%q is %q, not %q", name, got, want)
		}
	}
}

// Inspection ends with the context.
func TestInspectionEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, content := range [][]byte{assettest.ZIP(assettest.Entry{Name: "index.html", Content: "<p>"}), []byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`)} {
		if _, err := inspect(ctx, spooled(t, content), "a", testUnpacked); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}
