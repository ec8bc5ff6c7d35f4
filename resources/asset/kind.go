package asset

import (
	"path"
	"strings"
)

// kind is a type of file.
type kind struct {
	// id is the name in the API.
	id string
	// media is the media type in responses.
	media string
	// extension is the usual extension of file names.
	extension string
}

var (
	jpegKind = &kind{"IMAGE_JPEG", "image/jpeg", ".jpg"}
	pngKind  = &kind{"IMAGE_PNG", "image/png", ".png"}
	gifKind  = &kind{"IMAGE_GIF", "image/gif", ".gif"}
	webpKind = &kind{"IMAGE_WEBP", "image/webp", ".webp"}
	svgKind  = &kind{"IMAGE_SVG", "image/svg+xml", ".svg"}
	mp4Kind  = &kind{"VIDEO_MP4", "video/mp4", ".mp4"}
	htmlKind = &kind{"TEXT_HTML", "text/html", ".html"}
	zipKind  = &kind{"APPLICATION_ZIP", "application/zip", ".zip"}
)

var kinds = []*kind{jpegKind, pngKind, gifKind, webpKind, svgKind, mp4Kind, htmlKind, zipKind}

// MimeTypes returns the values of the property mimeType.
func MimeTypes() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.id
	}
	return names
}

// allowed returns the kinds for messages.
func allowed() string { return strings.Join(MimeTypes(), ", ") }

// bundled has the media types of the files that a bundle may contain, by the
// extensions of their names. The type of a text file cannot be recognised by its
// content; files of all other types must match their extension.
var bundled = map[string]string{
	".html": htmlKind.media, ".htm": htmlKind.media,
	".css": "text/css", ".js": "text/javascript", ".mjs": "text/javascript", ".json": "application/json", ".txt": "text/plain",
	".jpg": jpegKind.media, ".jpeg": jpegKind.media, ".png": pngKind.media, ".gif": gifKind.media, ".webp": webpKind.media,
	".svg": svgKind.media, ".mp4": mp4Kind.media,
	".woff": "font/woff", ".woff2": "font/woff2", ".ttf": "font/ttf", ".otf": "font/otf",
}

// bundledExtensions lists the extensions for messages.
const bundledExtensions = "html, htm, css, js, mjs, json, txt, jpg, jpeg, png, gif, webp, svg, mp4, woff, woff2, ttf, otf"

// mediaOf returns the media type of an entry of a bundle by its name.
func mediaOf(name string) (media string, ok bool) {
	media, ok = bundled[strings.ToLower(path.Ext(name))]
	return media, ok
}

// policyOf returns the Content-Security-Policy of a file. An uploaded file runs no
// scripts, or, if it is a page, runs them in an opaque origin.
func policyOf(media string) string {
	switch media {
	case htmlKind.media:
		return "sandbox allow-scripts allow-popups"
	case svgKind.media:
		return "default-src 'none'; sandbox"
	}
	return "default-src 'none'"
}
