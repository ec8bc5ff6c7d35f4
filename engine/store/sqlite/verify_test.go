package sqlite

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"

	"marquee/engine/store"
)

// TestFaults: what SQLite finds in a file is said in words of this program.
func TestFaults(t *testing.T) {
	for line, want := range map[string]string{
		"ok":                       "",
		"*** in database main ***": "",
		"row 3 missing from index r_line-items_id":                   "the index r_line-items_id does not agree with its table",
		"wrong # of entries in index changes_object":                 "the index changes_object does not agree with its table",
		"NULL value in r_line-items.document":                        "the table r_line-items has a row that it must not have",
		"row not in PRIMARY KEY order for claims":                    "the table claims has a row that it must not have",
		"Tree 5 page 7: btreeInitPage() returns error code 11":       "page 7 of the file is damaged",
		"Tree 5 page 7 cell 3: 2nd reference to page 9":              "page 9 of the file is damaged",
		"Page 12: never used\n":                                      "page 12 of the file is damaged",
		"Freelist: size is 3 but should be 4":                        "the structure of the file is damaged",
		"Tree 2 page 2 cell 0: invalid page number 4008636142":       "page 2 of the file is damaged",
		"database disk image is malformed (which no version writes)": "the structure of the file is damaged",
	} {
		if got := faultOf(line); got != want {
			t.Errorf("%q: %q instead of %q", line, got, want)
		}
	}
}

// TestVerifyDamage: damage is found, and each fault is reported once.
func TestVerifyDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "marquee.db")
	seed(t, path)
	s := openTest(t, Options{Path: path})
	var root int64
	err := s.Read(t.Context(), func(snapshot store.Snapshot) (err error) {
		root, err = snapshot.(*view).conn.number("SELECT rootpage FROM sqlite_master WHERE name='r_things'")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	overwrite(t, path, (root-1)*4096, bytes.Repeat([]byte{0xee}, 4096))
	s = openTest(t, Options{Path: path})
	var faults []string
	err = s.Verify(t.Context(), func(fault string) error {
		faults = append(faults, fault)
		return nil
	})
	if code, _ := store.CodeOf(err); err != nil && code != store.CodeDamaged {
		t.Error(err)
	}
	slices.Sort(faults)
	if len(faults) == 0 || len(slices.Compact(slices.Clone(faults))) != len(faults) {
		t.Errorf("the faults: %q", faults)
	}
}
