package layout

import "strings"

func set(names string) map[string]bool {
	all := map[string]bool{}
	for _, name := range strings.Fields(names) {
		all[name] = true
	}
	return all
}

var (
	// rawElements contain text that is not parsed as markup.
	rawElements = set(`iframe noembed noframes noscript plaintext script style textarea title xmp`)

	// breakouts are the elements that end svg and math, or contain html within them.
	breakouts = set(`b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img
		li listing menu meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var font
		foreignobject desc annotation-xml mi mo mn ms mtext`)

	// refusedElements load or run something that their attributes name, or change
	// the meaning of the URLs of other elements.
	refusedElements = set(`animate animatemotion animatetransform applet base embed feimage link object param
		portal script set style template use`)

	// textAttributes affect only what users read or how elements look.
	textAttributes = set(`abbr accept alt align autocomplete bgcolor border cellpadding cellspacing class color
		cols colspan content datetime dir face fill fill-opacity font-family font-size font-weight for frameborder
		height hspace id label lang maxlength media name opacity placeholder preload role rows rowspan size sizes
		span start stroke stroke-width summary tabindex target text-anchor title transform valign value
		viewbox vspace width x y x1 x2 y1 y2 cx cy r rx ry dx dy offset points d property itemprop itemtype
		loading decoding fetchpriority min max step pattern scope headers hreflang srclang kind coords shape`)

	urlAttributes = set(`action background cite dynsrc formaction href icon longdesc lowsrc ping poster src
		xlink:href`)

	srcsetAttributes = set(`srcset imagesrcset`)

	scriptTypes = set(`application/javascript application/json application/ld+json module text/javascript`)
)

// isTextAttribute also accepts data- attributes, unless a library might use their
// value as a URL or a script.
func isTextAttribute(name string) bool {
	if strings.HasPrefix(name, "aria-") {
		return true
	}
	if rest, ok := strings.CutPrefix(name, "data-"); ok {
		return rest != "" && !strings.HasPrefix(rest, "on") && !isURLAttribute(name) &&
			strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
	}
	return textAttributes[name]
}

func isURLAttribute(name string) bool {
	if rest, ok := strings.CutPrefix(name, "data-"); ok {
		for _, part := range []string{"src", "href", "url", "uri", "link", "action", "poster", "background"} {
			if strings.Contains(rest, part) {
				return true
			}
		}
	}
	return urlAttributes[name]
}
