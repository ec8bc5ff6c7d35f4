package location

import (
	"bytes"
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

//go:embed gazetteer.tsv.zst
var compressed []byte

// Load returns the embedded gazetteer. The first call decodes it.
func Load() *Gazetteer { return load() }

var load = sync.OnceValue(func() *Gazetteer {
	locations, err := decode(compressed)
	if err != nil {
		panic("the embedded gazetteer: " + err.Error())
	}
	return New(locations)
})

// kinds has the types by their letter in the data.
var kinds = map[string]Type{"C": City, "R": Region, "N": Country}

// decode reads the output of generate, whose lines have tab-separated fields:
//
//   - "=", region, country: the region and country of the following locations
//   - id, C, R or N (a country), name, population, alternate names…: a location
//
// Locations with the same region and country share the strings in memory.
func decode(compressed []byte) ([]Location, error) {
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer decoder.Close()
	data, err := decoder.DecodeAll(compressed, nil)
	if err != nil {
		return nil, err
	}
	locations := make([]Location, 0, bytes.Count(data, []byte("\n")))
	var region, country string
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if fields[0] == "=" && len(fields) == 3 {
			region, country = fields[1], fields[2]
			continue
		}
		if len(fields) < 4 {
			return nil, fmt.Errorf("line %d has %d fields", n, len(fields))
		}
		l := Location{Type: kinds[fields[1]], Name: fields[2], Region: region, Country: country}
		if l.Type == "" {
			return nil, fmt.Errorf("line %d has the type %q", n, fields[1])
		}
		if len(fields) > 4 {
			l.Alternates = fields[4:]
		}
		if l.ID, err = strconv.ParseInt(fields[0], 10, 64); err != nil {
			return nil, fmt.Errorf("line %d has the id %q", n, fields[0])
		}
		if l.Population, err = strconv.ParseInt(fields[3], 10, 64); err != nil {
			return nil, fmt.Errorf("line %d has the population %q", n, fields[3])
		}
		locations = append(locations, l)
	}
	return locations, nil
}
