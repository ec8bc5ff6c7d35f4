package asset

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"strings"

	"marquee/engine/message"
	"marquee/resources/catalogue"
)

// facts are the results of inspecting a file.
type facts struct {
	kind     *kind
	fileName string
	size     int64
	sum      string
	// width and height are 0 if the file does not have them.
	width, height int64
	// files are the files to deliver, and primary is the path of the one at cdnId.
	files   []delivered
	primary string
}

// delivered is a file to deliver.
type delivered struct {
	path, media string
	// sum is the SHA-256 of the content, and size its length.
	sum  string
	size int64
	open func() (io.ReadCloser, error)
}

// properties returns the properties of the asset in their stored form.
func (f *facts) properties() map[string]any {
	properties := map[string]any{
		"mimeType": f.kind.id, "fileName": f.fileName, "fileSizeBytes": f.size, "sha256": f.sum,
		"primaryHtmlAsset": f.kind == htmlKind || f.kind == zipKind, "width": nil, "height": nil,
	}
	if f.width > 0 && f.height > 0 {
		properties["width"], properties["height"] = f.width, f.height
	}
	return properties
}

// headBytes is the size of the beginning of a file that determines its kind.
const headBytes = 64 << 10

// inspect inspects a file and the name it was sent with. A bundle may unpack to at
// most unpacked bytes. The error is a *message.Error if the file is at fault, or that
// of the context.
func inspect(ctx context.Context, file *received, sentName string, unpacked int64) (facts, error) {
	f, err := inspectFile(ctx, file, sentName, unpacked)
	if ctx.Err() != nil {
		return facts{}, ctx.Err()
	}
	return f, err
}

// cancellable is a file that cannot be read after the context has ended.
type cancellable struct {
	ctx  context.Context
	file *received
}

// ReadAt implements io.ReaderAt.
func (c cancellable) ReadAt(p []byte, offset int64) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.file.ReadAt(p, offset)
}

func inspectFile(ctx context.Context, file *received, sentName string, unpacked int64) (facts, error) {
	content := cancellable{ctx, file}
	head, err := io.ReadAll(io.LimitReader(file.Reader(), headBytes))
	if err != nil {
		return facts{}, err
	}
	k := sniff(head)
	if k == nil {
		return facts{}, catalogue.AssetType.Error(message.Params{"allowed": allowed()})
	}
	f := facts{kind: k, fileName: fileName(sentName, k), size: file.Size(), sum: file.sum()}
	switch k {
	case htmlKind:
	case zipKind:
		if f.files, err = readBundle(content, file.Size(), unpacked); err == nil {
			f.primary, err = primaryOf(f.files)
		}
		return f, err
	case mp4Kind:
		f.width, f.height, err = videoSize(content, file.Size())
	default:
		f.width, f.height, err = imageSize(k, io.NewSectionReader(content, 0, file.Size()))
	}
	f.primary = f.fileName
	f.files = []delivered{{f.fileName, k.media, f.sum, f.size, file.open}}
	return f, err
}

// damaged returns the error of a file that is not a valid one of its kind.
func damaged(k *kind) error { return catalogue.AssetDamaged.Error(message.Params{"value": k.id}) }

// sniff returns the kind of a file by its first bytes, or nil.
func sniff(head []byte) *kind {
	begins := func(signature string) bool { return bytes.HasPrefix(head, []byte(signature)) }
	switch {
	case begins("\xff\xd8\xff"):
		return jpegKind
	case begins("\x89PNG\r\n\x1a\n"):
		return pngKind
	case begins("GIF87a"), begins("GIF89a"):
		return gifKind
	case begins("RIFF") && len(head) >= 12 && string(head[8:12]) == "WEBP":
		return webpKind
	case begins("PK\x03\x04"), begins("PK\x05\x06"):
		return zipKind
	case isVideo(head):
		return mp4Kind
	}
	text := bytes.TrimPrefix(head, []byte("\ufeff"))
	switch {
	case isSVG(text):
		return svgKind
	case strings.HasPrefix(http.DetectContentType(text), htmlKind.media): // the WHATWG algorithm
		return htmlKind
	}
	return nil
}

// isVideo recognises an MP4 by the brands of its first box. Some image formats have
// boxes of the same form.
func isVideo(head []byte) bool {
	if len(head) < 16 || string(head[4:8]) != "ftyp" {
		return false
	}
	switch string(head[8:12]) {
	case "avif", "avis", "heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1":
		return false
	}
	end := min(int(binary.BigEndian.Uint32(head)), len(head))
	for at := 8; at+4 <= end; at += 4 {
		brand := string(head[at : at+4])
		switch {
		case at == 12: // the version of the first brand
		case strings.HasPrefix(brand, "mp4"), strings.HasPrefix(brand, "iso"), strings.HasPrefix(brand, "M4V"),
			brand == "avc1", brand == "dash", brand == "MSNV":
			return true
		}
	}
	return false
}
