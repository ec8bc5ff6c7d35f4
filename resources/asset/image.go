package asset

import (
	"bufio"
	"encoding/binary"
	"hash/crc32"
	"image/jpeg"
	"io"
	"math"

	"marquee/engine/message"
	"marquee/resources/catalogue"
)

// maxPixels is the maximum number of pixels of all frames of an image. A small file
// can have more than the memory of its viewers.
const maxPixels = 100_000_000

// imageSize reads the size of an image from its headers, and counts the frames.
func imageSize(k *kind, r io.Reader) (width, height int64, err error) {
	if k == svgKind {
		return svgSize(r)
	}
	in := bufio.NewReader(r)
	var frames int64 = 1
	switch k {
	case jpegKind:
		config, err := jpeg.DecodeConfig(in)
		if err != nil {
			return 0, 0, damaged(k)
		}
		width, height = int64(config.Width), int64(config.Height)
	case pngKind:
		width, height, frames, err = pngSize(in)
	case gifKind:
		width, height, frames, err = gifSize(in)
	case webpKind:
		width, height, frames, err = webpSize(in)
	}
	if err != nil || width <= 0 || height <= 0 {
		return 0, 0, damaged(k)
	}
	if width > maxPixels || height > maxPixels || frames > maxPixels || width*height > maxPixels/frames {
		return 0, 0, catalogue.AssetPixels.Error(message.Params{"width": width, "height": height, "frames": frames, "limit": maxPixels})
	}
	return width, height, nil
}

// skip discards n bytes.
func skip(in *bufio.Reader, n int64) error {
	if n < 0 {
		return io.ErrUnexpectedEOF
	}
	_, err := in.Discard(int(n))
	return err
}

// pngSize reads up to the first image data, because an animated PNG has its number
// of frames before that.
func pngSize(in *bufio.Reader) (width, height, frames int64, err error) {
	var header [33]byte // signature, and the chunk IHDR
	if _, err := io.ReadFull(in, header[:]); err != nil {
		return 0, 0, 0, err
	}
	width, height = int64(binary.BigEndian.Uint32(header[16:])), int64(binary.BigEndian.Uint32(header[20:]))
	if string(header[8:16]) != "\x00\x00\x00\x0dIHDR" || binary.BigEndian.Uint32(header[29:]) != crc32.ChecksumIEEE(header[12:29]) ||
		width > math.MaxInt32 || height > math.MaxInt32 {
		return 0, 0, 0, io.ErrUnexpectedEOF
	}
	for frames = 1; ; {
		var chunk [8]byte
		if _, err := io.ReadFull(in, chunk[:]); err != nil {
			return 0, 0, 0, err
		}
		length := int64(binary.BigEndian.Uint32(chunk[:]))
		switch name := string(chunk[4:]); {
		case name == "IDAT":
			return width, height, frames, nil
		case name == "acTL" && length == 8:
			var count [4]byte
			if _, err := io.ReadFull(in, count[:]); err != nil {
				return 0, 0, 0, err
			}
			frames, length = max(1, int64(binary.BigEndian.Uint32(count[:]))), 4
		}
		if err := skip(in, length+4); err != nil { // with its checksum
			return 0, 0, 0, err
		}
	}
}

// gifSize walks the blocks of a GIF. A file that ends between two blocks is accepted,
// as all viewers show it.
func gifSize(in *bufio.Reader) (width, height, frames int64, err error) {
	var header [13]byte
	if _, err := io.ReadFull(in, header[:]); err != nil {
		return 0, 0, 0, err
	}
	width, height = int64(binary.LittleEndian.Uint16(header[6:])), int64(binary.LittleEndian.Uint16(header[8:]))
	if err := skip(in, colorTable(header[10])); err != nil {
		return 0, 0, 0, err
	}
	for {
		block, err := in.ReadByte()
		switch {
		case (err == io.EOF || block == 0x3b) && frames > 0:
			return width, height, frames, nil
		case err != nil:
			return 0, 0, 0, err
		case block == 0x21:
			err = skip(in, 1)
		case block == 0x2c:
			frames++
			var image [9]byte
			if _, err = io.ReadFull(in, image[:]); err == nil {
				err = skip(in, colorTable(image[8])+1)
			}
			if frames == 1 && width*height == 0 { // the screen is the size of the first image
				width, height = int64(binary.LittleEndian.Uint16(image[4:])), int64(binary.LittleEndian.Uint16(image[6:]))
			}
		default:
			return 0, 0, 0, io.ErrUnexpectedEOF
		}
		for length := byte(1); err == nil && length > 0; {
			if length, err = in.ReadByte(); err == nil {
				err = skip(in, int64(length))
			}
		}
		if err != nil {
			return 0, 0, 0, io.ErrUnexpectedEOF
		}
	}
}

// colorTable returns the length of the colour table according to packed fields.
func colorTable(packed byte) int64 {
	if packed&0x80 == 0 {
		return 0
	}
	return 3 << (packed&7 + 1)
}

// webpSize walks the chunks of a WebP. The first has the size, and each ANMF is a
// frame.
func webpSize(in *bufio.Reader) (width, height, frames int64, err error) {
	if err := skip(in, 12); err != nil {
		return 0, 0, 0, err
	}
	images := int64(0)
	for first := true; ; first = false {
		var chunk [8]byte
		if _, err := io.ReadFull(in, chunk[:]); err == io.EOF && images > 0 {
			return width, height, max(1, frames), nil
		} else if err != nil {
			return 0, 0, 0, err
		}
		name, length := string(chunk[:4]), int64(binary.LittleEndian.Uint32(chunk[4:]))
		switch name {
		case "VP8 ", "VP8L":
			images++
		case "ANMF":
			images, frames = images+1, frames+1
		}
		if first {
			head := make([]byte, min(length, 10))
			if _, err := io.ReadFull(in, head); err != nil {
				return 0, 0, 0, err
			}
			if width, height = webpHeader(name, head); width == 0 {
				return 0, 0, 0, io.ErrUnexpectedEOF
			}
			length -= int64(len(head))
		}
		if err := skip(in, length); err != nil {
			return 0, 0, 0, err
		}
		if length&1 == 1 { // chunks are padded, but not always the last one
			if _, err := in.ReadByte(); err != nil && err != io.EOF {
				return 0, 0, 0, err
			}
		}
	}
}

// webpHeader reads the size from the first chunk (RFC 9649).
func webpHeader(name string, head []byte) (width, height int64) {
	switch {
	case len(head) < 5:
	case name == "VP8L" && head[0] == 0x2f:
		bits := int64(binary.LittleEndian.Uint32(head[1:]))
		return bits&0x3fff + 1, bits>>14&0x3fff + 1
	case len(head) < 10:
	case name == "VP8 " && head[0]&1 == 0 && string(head[3:6]) == "\x9d\x01\x2a":
		return int64(binary.LittleEndian.Uint16(head[6:])) & 0x3fff, int64(binary.LittleEndian.Uint16(head[8:])) & 0x3fff
	case name == "VP8X":
		read := func(b []byte) int64 { return int64(b[0]) | int64(b[1])<<8 | int64(b[2])<<16 }
		return read(head[4:]) + 1, read(head[7:]) + 1
	}
	return 0, 0
}
