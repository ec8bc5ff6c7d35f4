package asset

import (
	"encoding/binary"
	"io"
)

// maxBoxes is the maximum number of boxes of a video.
const maxBoxes = 10_000

// video walks the boxes of an MP4 (ISO/IEC 14496-12) for its first video track.
type video struct {
	r             io.ReaderAt
	boxes         int
	width, height int64
}

// videoSize reads the size of a video from its headers, wherever they are.
func videoSize(r io.ReaderAt, size int64) (width, height int64, err error) {
	v := &video{r: r}
	err = v.walk(0, size, func(name string, from, to int64) error {
		if name == "moov" && v.width == 0 {
			return v.movie(from, to)
		}
		return nil
	})
	if err != nil || v.width <= 0 || v.height <= 0 {
		return 0, 0, damaged(mp4Kind)
	}
	return v.width, v.height, nil
}

// walk visits the boxes between two offsets. Each must be complete.
func (v *video) walk(from, to int64, visit func(name string, from, to int64) error) error {
	for from < to {
		if v.boxes++; v.boxes > maxBoxes {
			return io.ErrUnexpectedEOF
		}
		var header [16]byte
		if err := v.read(header[:8], from, to); err != nil {
			return err
		}
		length, content := int64(binary.BigEndian.Uint32(header[:])), from+8
		switch length {
		case 0: // to the end
			length = to - from
		case 1:
			if err := v.read(header[8:], from+8, to); err != nil {
				return err
			}
			length, content = int64(binary.BigEndian.Uint64(header[8:])), from+16 // #nosec G115 -- a negative length is refused below
		}
		if length < content-from || length > to-from {
			return io.ErrUnexpectedEOF
		}
		if err := visit(string(header[4:8]), content, from+length); err != nil {
			return err
		}
		from += length
	}
	return nil
}

// read fills b from an offset, without reading beyond to.
func (v *video) read(b []byte, from, to int64) error {
	if from+int64(len(b)) > to {
		return io.ErrUnexpectedEOF
	}
	_, err := v.r.ReadAt(b, from)
	if err == io.EOF { // all was read
		return nil
	}
	return err
}

func (v *video) movie(from, to int64) error {
	return v.walk(from, to, func(name string, from, to int64) error {
		if name == "trak" && v.width == 0 {
			return v.track(from, to)
		}
		return nil
	})
}

// track records the size of a video track.
func (v *video) track(from, to int64) error {
	var width, height int64
	isVideo := false
	err := v.walk(from, to, func(name string, from, to int64) (err error) {
		switch name {
		case "tkhd": // ends with width and height as 16.16 numbers
			var size [8]byte
			if err := v.read(size[:], max(from, to-8), to); err != nil {
				return err
			}
			width, height = int64(binary.BigEndian.Uint16(size[:])), int64(binary.BigEndian.Uint16(size[4:]))
		case "mdia":
			isVideo, err = v.handles(from, to)
		}
		return err
	})
	if isVideo {
		v.width, v.height = width, height
	}
	return err
}

// handles reports whether a media box has the handler of video.
func (v *video) handles(from, to int64) (isVideo bool, err error) {
	err = v.walk(from, to, func(name string, from, to int64) error {
		if name != "hdlr" {
			return nil
		}
		var head [12]byte
		if err := v.read(head[:], from, to); err != nil {
			return err
		}
		isVideo = string(head[8:]) == "vide"
		return nil
	})
	return isVideo, err
}
