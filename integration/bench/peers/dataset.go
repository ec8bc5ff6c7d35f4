package main

import (
	"fmt"
	"strconv"
)

// dataset is what all peers store: objects that are evenly in folders, and one folder
// for those that the measurement creates. All ids suit all peers: 15 letters and digits.
type dataset struct{ objects, folders int }

const note = "A note of about a hundred characters, so that the object has a size that is not unusual for a record."

func (d dataset) folderSize() int { return d.objects / d.folders }

func (d dataset) folder(n int) map[string]string {
	return map[string]string{"id": folderID(n), "name": folderName(n)}
}

func (d dataset) object(n int) map[string]string { return d.in(n, n%d.folders) }

// newObject is one that the measurement creates.
func (d dataset) newObject(n int) map[string]string { return d.in(d.objects+n, d.folders) }

func (d dataset) in(n, folder int) map[string]string {
	return map[string]string{
		"n": strconv.Itoa(n), "id": fmt.Sprintf("i%014d", n), "name": fmt.Sprintf("Item %09d", n*7919%100_000_007),
		"code": fmt.Sprintf("code-%09d", n), "amount": strconv.Itoa(n % 1000), "note": note,
		"folder": folderID(folder), "folderName": folderName(folder),
	}
}

func folderID(n int) string { return fmt.Sprintf("f%014d", n) }

func folderName(n int) string { return fmt.Sprintf("Folder %06d", n) }
