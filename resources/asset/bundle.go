package asset

import (
	"archive/zip"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"marquee/engine/message"
	"marquee/resources/catalogue"
)

// The limits of a bundle.
const (
	maxEntries      = 1000
	maxEntryPath    = 255
	maxEntryLevels  = 16
	maxEntryRatio   = 200
	ratioCountsFrom = 1 << 20
	// maxDirectoryBytes is the maximum size of the directory of a ZIP.
	maxDirectoryBytes = 2 << 20
)

// readBundle unpacks a ZIP of at most limit unpacked bytes to check it, and returns its
// files.
func readBundle(r io.ReaderAt, size, limit int64) ([]delivered, error) {
	entries, err := listEntries(r, size)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var files []delivered
	left := limit
	for _, entry := range entries {
		switch {
		case seen[entry.Name]:
			return nil, refuse(catalogue.BundleRepeated, entry, nil)
		case !validEntryPath(entry.Name):
			return nil, refuse(catalogue.BundlePath, entry, message.Params{"limit": maxEntryPath, "levels": maxEntryLevels})
		case entry.Flags&1 != 0:
			return nil, refuse(catalogue.BundleEncrypted, entry, nil)
		case entry.Mode()&fs.ModeType&^fs.ModeDir != 0:
			return nil, refuse(catalogue.BundleLink, entry, nil)
		}
		if seen[entry.Name] = true; strings.HasSuffix(entry.Name, "/") || isLitter(entry.Name) {
			continue
		}
		file, err := readEntry(entry, left)
		switch {
		case errors.Is(err, errUnpacked):
			return nil, catalogue.BundleTooLarge.Error(message.Params{"limit": limit})
		case err != nil:
			return nil, err
		}
		files, left = append(files, file), left-file.size
	}
	slices.SortFunc(files, func(a, b delivered) int { return cmp.Compare(a.path, b.path) })
	return files, nil
}

// refuse returns an error with the name of an entry.
func refuse(d *message.Definition, entry *zip.File, params message.Params) error {
	name := strings.ToValidUTF8(entry.Name, "\ufffd")
	if runes := []rune(name); len(runes) > maxEntryPath {
		name = string(runes[:maxEntryPath]) + "…"
	}
	return &message.Error{Kind: d.Kind, Messages: []message.Message{d.With(params).Adding(message.Params{"entry": name})}}
}

// listEntries reads the directory of a ZIP, up to the size that maxEntries entries may
// need.
func listEntries(r io.ReaderAt, size int64) ([]*zip.File, error) {
	tooMany := catalogue.BundleEntries.Error(message.Params{"limit": maxEntries})
	bounded := &boundedReaderAt{r: r, left: maxDirectoryBytes}
	archive, err := zip.NewReader(bounded, size)
	switch {
	case errors.Is(err, errDirectory):
		return nil, tooMany
	case err != nil && !errors.Is(err, zip.ErrInsecurePath): // validEntryPath checks the paths
		return nil, catalogue.BundleDamaged.Error(nil)
	case len(archive.File) > maxEntries:
		return nil, tooMany
	}
	bounded.left = math.MaxInt64
	return archive.File, nil
}

var errDirectory = errors.New("the directory is too long")

// boundedReaderAt limits the number of bytes read.
type boundedReaderAt struct {
	r    io.ReaderAt
	left int64
}

func (b *boundedReaderAt) ReadAt(p []byte, offset int64) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, errDirectory
	}
	return b.r.ReadAt(p, offset)
}

// validEntryPath reports whether an entry may have a path. That of a folder ends in a
// slash.
func validEntryPath(name string) bool {
	if len(name) > maxEntryPath || !utf8.ValidString(name) || strings.ContainsAny(name, `\:`) || strings.ContainsFunc(name, unicode.IsControl) {
		return false
	}
	parts := strings.Split(strings.TrimSuffix(name, "/"), "/")
	for _, part := range parts {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return len(parts) <= maxEntryLevels
}

// isLitter reports whether a desktop system added an entry on its own.
func isLitter(name string) bool {
	switch path.Base(name) {
	case ".DS_Store", "Thumbs.db", "desktop.ini":
		return true
	}
	return strings.HasPrefix(name, "__MACOSX/")
}

var errUnpacked = errors.New("the unpacked entry is too large")

// readEntry unpacks an entry to check it. The error is errUnpacked if it has more than
// limit bytes.
func readEntry(entry *zip.File, limit int64) (delivered, error) {
	media, known := mediaOf(entry.Name)
	if !known {
		return delivered{}, refuse(catalogue.BundleEntryType, entry, message.Params{"allowed": bundledExtensions})
	}
	in, err := entry.Open()
	if err != nil {
		return delivered{}, catalogue.BundleDamaged.Error(nil)
	}
	defer in.Close()
	digest, counted := sha256.New(), &counter{}
	bounded := &io.LimitedReader{R: in, N: limit + 1}
	content := io.TeeReader(bounded, io.MultiWriter(digest, counted))
	fault := checkEntry(media, content)
	_, err = io.Copy(io.Discard, content)
	switch {
	case bounded.N <= 0:
		return delivered{}, errUnpacked
	case counted.n > ratioCountsFrom && counted.n/maxEntryRatio > int64(entry.CompressedSize64): // #nosec G115 -- a size that becomes negative is refused
		return delivered{}, refuse(catalogue.BundleRatio, entry, message.Params{"limit": maxEntryRatio})
	case err != nil:
		return delivered{}, catalogue.BundleDamaged.Error(nil)
	case catalogue.AssetPixels.Is(fault), catalogue.AssetTooLarge.Is(fault), catalogue.AssetToken.Is(fault):
		return delivered{}, fault
	case fault != nil:
		return delivered{}, refuse(catalogue.BundleEntryType, entry, message.Params{"allowed": bundledExtensions})
	}
	return delivered{entry.Name, media, hex.EncodeToString(digest.Sum(nil)), counted.n, entry.Open}, nil
}

// counter counts the bytes written to it.
type counter struct{ n int64 }

func (c *counter) Write(b []byte) (int, error) {
	c.n += int64(len(b))
	return len(b), nil
}

var errOtherType = errors.New("the content is of another type")

// checkEntry checks the content of an entry against its type. It need not read it to
// the end.
func checkEntry(media string, content io.Reader) error {
	switch media {
	case svgKind.media:
		_, _, err := svgSize(content)
		return err
	case jpegKind.media, pngKind.media, gifKind.media, webpKind.media:
		head, err := readHead(content)
		if err != nil {
			return err
		}
		k := sniff(head)
		if k == nil || k.media != media {
			return errOtherType
		}
		_, _, err = imageSize(k, io.MultiReader(strings.NewReader(string(head)), content))
		return err
	case mp4Kind.media, "font/woff", "font/woff2", "font/ttf", "font/otf":
		head, err := readHead(content)
		if err != nil || media != fontOf(head) && (media != mp4Kind.media || !isVideo(head)) {
			return errOtherType
		}
	}
	return nil
}

func readHead(content io.Reader) ([]byte, error) {
	head := make([]byte, 512)
	n, err := io.ReadFull(content, head)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return head[:n], err
}

// fontOf returns the media type of a font by its first bytes, or "".
func fontOf(head []byte) string {
	switch string(head[:min(4, len(head))]) {
	case "wOFF":
		return "font/woff"
	case "wOF2":
		return "font/woff2"
	case "\x00\x01\x00\x00", "true":
		return "font/ttf"
	case "OTTO":
		return "font/otf"
	}
	return ""
}

// primaryOf returns the path of the first page of a bundle.
func primaryOf(files []delivered) (string, error) {
	var pages []string
	for _, file := range files {
		if file.path == "index.html" {
			return file.path, nil
		}
		if file.media == htmlKind.media {
			pages = append(pages, file.path)
		}
	}
	if len(pages) != 1 {
		return "", catalogue.BundlePrimary.Error(nil)
	}
	return pages[0], nil
}
