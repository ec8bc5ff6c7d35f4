// Package assettest creates small files of every type of asset for tests. It imports
// nothing of the project; begin with any function.
package assettest

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
)

func picture(width, height int) *image.Paletted {
	return image.NewPaletted(image.Rect(0, 0, width, height), color.Palette{color.Black, color.White})
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// JPEG returns an image.
func JPEG(width, height int) []byte {
	var b bytes.Buffer
	must(jpeg.Encode(&b, picture(width, height), nil))
	return b.Bytes()
}

// PNG returns an image.
func PNG(width, height int) []byte {
	var b bytes.Buffer
	must(png.Encode(&b, picture(width, height)))
	return b.Bytes()
}

// GIF returns an image with frames.
func GIF(width, height, frames int) []byte {
	all := &gif.GIF{}
	for range frames {
		all.Image, all.Delay = append(all.Image, picture(width, height)), append(all.Delay, 1)
	}
	var b bytes.Buffer
	must(gif.EncodeAll(&b, all))
	return b.Bytes()
}

// chunk returns a chunk of a RIFF file.
func chunk(name string, data []byte) []byte {
	b := append(binary.LittleEndian.AppendUint32([]byte(name), uint32(len(data))), data...)
	if len(data)%2 == 1 {
		b = append(b, 0)
	}
	return b
}

func riff(chunks ...[]byte) []byte {
	return chunk("RIFF", append([]byte("WEBP"), bytes.Join(chunks, nil)...))
}

// WebP returns the headers of an image: lossy, lossless, or extended with frames.
func WebP(form string, width, height, frames int) []byte {
	w, h := uint16(width), uint16(height)
	lossy := append([]byte{0x10, 0, 0, 0x9d, 1, 0x2a}, byte(w), byte(w>>8), byte(h), byte(h>>8), 0)
	switch form {
	case "lossy":
		return riff(chunk("VP8 ", lossy))
	case "lossless":
		return riff(chunk("VP8L", append(binary.LittleEndian.AppendUint32([]byte{0x2f}, uint32(width-1)|uint32(height-1)<<14), 0)))
	}
	canvas := binary.LittleEndian.AppendUint32(make([]byte, 4, 12), uint32(width-1))[:7]
	canvas = binary.LittleEndian.AppendUint32(canvas, uint32(height-1))[:10]
	chunks := [][]byte{chunk("VP8X", canvas)}
	for range frames {
		chunks = append(chunks, chunk("ANMF", append(make([]byte, 16), chunk("VP8 ", lossy)...)))
	}
	return riff(chunks...)
}

// Box returns a box of an MP4.
func Box(name string, content ...[]byte) []byte {
	data := bytes.Join(content, nil)
	return append(append(binary.BigEndian.AppendUint32(nil, uint32(len(data)+8)), name...), data...)
}

// MP4 returns the boxes of a video whose sound track precedes its video track.
func MP4(width, height int) []byte {
	track := func(handler string, width, height int) []byte {
		size := binary.BigEndian.AppendUint32(make([]byte, 76), uint32(width)<<16)
		size = binary.BigEndian.AppendUint32(size, uint32(height)<<16)
		return Box("trak", Box("tkhd", size), Box("mdia", Box("hdlr", make([]byte, 8), []byte(handler), make([]byte, 12))))
	}
	return bytes.Join([][]byte{
		Box("ftyp", []byte("isom\x00\x00\x02\x00isomiso2avc1mp41")),
		Box("mdat", make([]byte, 1000)),
		Box("moov", Box("mvhd", make([]byte, 100)), track("soun", 0, 0), track("vide", width, height)),
	}, nil)
}

// SVG returns an empty drawing.
func SVG(width, height int) []byte {
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d"/>`, width, height)
}

// Entry is an entry of a ZIP.
type Entry struct {
	Name, Content string
	// Change, if any, alters the header.
	Change func(*zip.FileHeader)
}

// ZIP returns a ZIP file.
func ZIP(entries ...Entry) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.Name, Method: zip.Deflate}
		if e.Change != nil {
			e.Change(header)
		}
		f, err := w.CreateHeader(header)
		must(err)
		if e.Content != "" {
			_, err = f.Write([]byte(e.Content))
			must(err)
		}
	}
	must(w.Close())
	return b.Bytes()
}
