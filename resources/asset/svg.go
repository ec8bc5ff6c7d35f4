package asset

import (
	"bytes"
	"encoding/xml"
	"io"
	"math"
	"strconv"
	"strings"

	"marquee/engine/message"
	"marquee/resources/catalogue"
)

const (
	svgSpace = "http://www.w3.org/2000/svg"
	// maxSVGBytes applies even if other files may be larger, because they are parsed.
	maxSVGBytes = 20 << 20
	// maxSVGLevels is the maximum nesting of elements.
	maxSVGLevels = 200
)

// isSVG reports whether the first element of a text is svg.
func isSVG(text []byte) bool {
	if !bytes.HasPrefix(bytes.TrimLeft(text, "\t\n\f\r "), []byte("<")) {
		return false
	}
	decoder := newDecoder(bytes.NewReader(text))
	for {
		token, err := decoder.RawToken()
		if err != nil {
			return false
		}
		if start, ok := token.(xml.StartElement); ok {
			return start.Name.Local == "svg"
		}
	}
}

// newDecoder returns a decoder that supports only UTF-8 and the entities of XML, so
// that no entity can expand.
func newDecoder(r io.Reader) *xml.Decoder {
	decoder := xml.NewDecoder(r)
	decoder.CharsetReader = func(charset string, in io.Reader) (io.Reader, error) {
		if strings.EqualFold(charset, "us-ascii") {
			return in, nil
		}
		return nil, markup()
	}
	return decoder
}

func markup() error { return catalogue.AssetMarkup.Error(message.Params{"limit": maxSVGLevels}) }

// svgSize reads an SVG to its end. It returns the size in pixels from width and height
// or from viewBox, or 0.
func svgSize(r io.Reader) (width, height int64, err error) {
	bounded := &io.LimitedReader{R: r, N: maxSVGBytes + 1}
	tokens := newTokenReader(bounded)
	width, height, err = svgTokens(newDecoder(tokens), tokens)
	switch {
	case bounded.N <= 0:
		err = catalogue.AssetTooLarge.Error(message.Params{"limit": maxSVGBytes})
	case tokens.err != nil:
		err = catalogue.AssetToken.Error(message.Params{"limit": maxTokenBytes, "attributes": maxAttributes})
	}
	return width, height, err
}

func svgTokens(decoder *xml.Decoder, tokens *tokenReader) (width, height int64, err error) {
	level, roots := 0, 0
	for {
		tokens.next()
		token, err := decoder.Token()
		if err == io.EOF && roots == 1 {
			return width, height, nil
		}
		if err != nil {
			return 0, 0, markup()
		}
		switch t := token.(type) {
		case xml.StartElement:
			if level++; level > maxSVGLevels {
				return 0, 0, markup()
			}
			if level > 1 {
				continue
			}
			if roots++; t.Name != (xml.Name{Space: svgSpace, Local: "svg"}) {
				return 0, 0, markup()
			}
			width, height = rootSize(t.Attr)
		case xml.EndElement:
			level--
		case xml.Directive: // a DOCTYPE without declarations, which follow [
			if roots > 0 || !bytes.HasPrefix(t, []byte("DOCTYPE")) || bytes.ContainsRune(t, '[') {
				return 0, 0, markup()
			}
		case xml.CharData:
			if level == 0 && len(bytes.TrimSpace(bytes.TrimPrefix(t, []byte("\ufeff")))) > 0 {
				return 0, 0, markup()
			}
		}
	}
}

func rootSize(attributes []xml.Attr) (width, height int64) {
	values := map[string]string{}
	for _, attribute := range attributes {
		if attribute.Name.Space == "" {
			values[attribute.Name.Local] = attribute.Value
		}
	}
	width, height = pixels(values["width"]), pixels(values["height"])
	if width > 0 && height > 0 {
		return width, height
	}
	box := strings.FieldsFunc(values["viewBox"], func(r rune) bool { return r == ',' || strings.ContainsRune(" \t\r\n", r) })
	if len(box) != 4 {
		return 0, 0
	}
	if width, height = pixels(box[2]), pixels(box[3]); width == 0 || height == 0 {
		return 0, 0
	}
	return width, height
}

// perUnit are the pixels of absolute units, at 96 pixels per inch.
var perUnit = map[string]float64{"": 1, "px": 1, "in": 96, "cm": 96 / 2.54, "mm": 96 / 25.4, "pt": 96.0 / 72, "pc": 16}

// pixels returns a length in pixels, or 0 if it is unknown.
func pixels(text string) int64 {
	text = strings.TrimSpace(text)
	number := strings.TrimRight(text, "abcdfghijklmnopqrstuvwxyz%") // e belongs to numbers
	unit, known := perUnit[text[len(number):]]
	value, err := strconv.ParseFloat(number, 64)
	size := math.Round(value * unit)
	if !known || err != nil || !(size >= 1 && size <= math.MaxInt32) {
		return 0
	}
	return int64(size)
}
