// Package panels is what the advertising service adds to the console: on the pages of
// objects, the targeting in a sentence, previews of creatives, and the upload of their files. Its
// JavaScript is served as it is. Begin with Module, then module.js.
package panels

import (
	"embed"
	"net/url"

	"marquee/console"
)

//go:embed *.js
var files embed.FS

// Module returns the module. The function cdn returns the URL in front of the paths of delivered
// files, "" for the service itself.
func Module(cdn func() string) console.Module {
	sources := func() []string {
		u, err := url.Parse(cdn())
		if err != nil || u.Host == "" {
			return nil
		}
		return []string{u.Scheme + "://" + u.Host}
	}
	return console.Module{Files: files, Previews: map[string]console.Preview{"creatives": {Property: "renderedHtml", Sources: sources}}}
}
