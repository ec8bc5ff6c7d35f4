package asset

import (
	"path"
	"strings"
)

// kind is a type of file that an asset can have.
type kind struct {
	// id is its name in the API.
	id string
	// media is the media type that it is delivered with.
	media string
	// extension is what the names of its files end in.
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

// allowed names the kinds for those who sent another.
func allowed() string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.id
	}
	return strings.Join(names, ", ")
}

// bundled are the files that a bundle may hold, by the endings of their names,
// with the media types that they are delivered with. The text of a page's
// parts does not tell of what type it is; all others are held to their names.
var bundled = map[string]string{
	".html": htmlKind.media, ".htm": htmlKind.media,
	".css": "text/css", ".js": "text/javascript", ".mjs": "text/javascript", ".json": "application/json", ".txt": "text/plain",
	".jpg": jpegKind.media, ".jpeg": jpegKind.media, ".png": pngKind.media, ".gif": gifKind.media, ".webp": webpKind.media,
	".svg": svgKind.media, ".mp4": mp4Kind.media,
	".woff": "font/woff", ".woff2": "font/woff2", ".ttf": "font/ttf", ".otf": "font/otf",
}

// bundledEndings names them for those who sent others.
const bundledEndings = "html, htm, css, js, mjs, json, txt, jpg, jpeg, png, gif, webp, svg, mp4, woff, woff2, ttf, otf"

// mediaOf is the media type of an entry of a bundle, by its name.
func mediaOf(name string) (media string, ok bool) {
	media, ok = bundled[strings.ToLower(path.Ext(name))]
	return media, ok
}

// policyOf is the Content-Security-Policy under which a file is delivered: what
// a stranger uploaded runs nothing, or, if it is a page, in an origin of its own.
func policyOf(media string) string {
	switch media {
	case htmlKind.media:
		return "sandbox allow-scripts allow-popups"
	case svgKind.media:
		return "default-src 'none'; sandbox"
	}
	return "default-src 'none'"
}
