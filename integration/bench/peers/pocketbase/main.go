// Command pocketbase is PocketBase as its module provides it, except that
// PEER_SYNCHRONOUS sets how it waits for the disk.
package main

import (
	"cmp"
	"log"
	"os"
	"strings"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase"
	_ "modernc.org/sqlite"
)

// pragmas are those of core.DefaultDBConnect, in its order.
const pragmas = "?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=journal_size_limit(200000000)" +
	"&_pragma=synchronous(NORMAL)&_pragma=foreign_keys(ON)&_pragma=temp_store(MEMORY)&_pragma=cache_size(-32000)"

func main() {
	synchronous := cmp.Or(os.Getenv("PEER_SYNCHRONOUS"), "NORMAL")
	app := pocketbase.NewWithConfig(pocketbase.Config{
		DBConnect: func(path string) (*dbx.DB, error) {
			return dbx.Open("sqlite", path+strings.Replace(pragmas, "NORMAL", synchronous, 1))
		},
	})
	if err := app.Start(); err != nil {
		log.Fatal(err)
	}
}
