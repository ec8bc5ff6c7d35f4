package asset

import (
	"bytes"
	"encoding/binary"
	"io"
	"net/http"
	"strings"

	"marquee/engine/message"
)

// facts are what is found out about a file.
type facts struct {
	kind     *kind
	fileName string
	size     int64
	sum      string
	// width and height are 0 where the file does not tell.
	width, height int64
	// files are what is delivered, and primary the path of the one that cdnId
	// leads to.
	files   []delivered
	primary string
}

// delivered is a file that an asset is delivered as, by its path.
type delivered struct {
	path, media string
	// sum is the SHA-256 of the content, size its length.
	sum  string
	size int64
	open func() (io.ReadCloser, error)
}

// properties are those of the asset, in their stored form.
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

// headBytes is how much of a file is looked at to find out what it is.
const headBytes = 64 << 10

// inspect finds out about a file that was sent under a name. Errors are
// *message.Error where the file is to blame.
func inspect(file *spool, sentName string) (facts, error) {
	head, err := io.ReadAll(io.LimitReader(file.reader(), headBytes))
	if err != nil {
		return facts{}, err
	}
	k := sniff(head)
	if k == nil {
		return facts{}, message.AssetType.Error(message.Params{"allowed": allowed()})
	}
	f := facts{kind: k, fileName: fileName(sentName, k), size: file.size, sum: file.sum()}
	switch k {
	case htmlKind:
	case zipKind:
		if f.files, err = readBundle(file, file.size); err == nil {
			f.primary, err = primaryOf(f.files)
		}
		return f, err
	case mp4Kind:
		f.width, f.height, err = videoSize(file, file.size)
	default:
		f.width, f.height, err = imageSize(k, file.reader())
	}
	f.primary = f.fileName
	f.files = []delivered{{f.fileName, k.media, f.sum, f.size, file.open}}
	return f, err
}

// damaged says that a file is not what it seems to be.
func damaged(k *kind) error { return message.AssetDamaged.Error(message.Params{"value": k.id}) }

// sniff tells the kind of a file by how it begins, nil when it is none.
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
	case strings.HasPrefix(http.DetectContentType(text), htmlKind.media): // as the WHATWG tells pages
		return htmlKind
	}
	return nil
}

// isVideo tells an MP4 by the brands of its first box. Pictures come in boxes
// of the same form.
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
